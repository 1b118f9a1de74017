#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Can the checks fail? Plant one fault at a time in a copy of the core and see who notices.

Each mutant is a text that is replaced in one file of the core; a text that is no longer there
is an error, so that the list keeps up with the code."""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CORE = HERE / "../../drivers/infiniband/sw/rxe_ooo/core"
OUT = HERE / "../../build/core/mutant"
RESULT = HERE / "../../build/results/mutants.json"
CFLAGS = ("-std=gnu11 -g -O2 -w -fsanitize=address,undefined -fno-sanitize-recover=all "
          "-fno-omit-frame-pointer").split()

# (what is wrong then, file, text, replacement)
MUTANTS = [
    ("an early copy is placed again", "resp_rx.c",
     "\tif (ooo_slots_find(&resp->slots, seq))\n\t\treturn KNOWN;\n", ""),
    ("early WRITEs are placed without being asked to", "resp_early.c",
     "if (ep->attr.ooo && (", "if (("),
    ("an early packet is executed at once", "resp_rx.c",
     "\t\tearly(ep, pkt, seq);\n", "\t\tooo_resp_turn(ep, pkt, now);\n"),
    ("an early error is reported at once", "resp_early_write.c",
     "\tif (!resolve(ep, pkt, info, seq, w, &offset))\n\t\treturn false;\n\treturn !pkt",
     "\tif (!resolve(ep, pkt, info, seq, w, &offset)) {\n"
     "\t\tif (info & OOO_IS_FIRST)\n"
     "\t\t\tooo_resp_fail_at(ep, seq, OOO_NAK_ACCESS, OOO_EVENT_QP_ACCESS_ERR);\n"
     "\t\treturn false;\n\t}\n\treturn !pkt"),
    ("a middle packet is placed one MTU too far", "resp_early_write.c",
     "u64 start = (u64)(seq - w->seq) << ep->mtu_shift;",
     "u64 start = (u64)(seq - w->seq + !(info & OOO_IS_FIRST)) << ep->mtu_shift;"),
    ("a held packet is not released", "resp_early.c",
     "\tif (slot->held)\n\t\tooo_env_release(ep, slot->held);\n", ""),
    ("an atomic's reply is not what it was", "resp_duplicate.c",
     "\tif (r && r->kind == kind && r->sent)\n", "\tif (r && r->kind == kind && r->sent && ++r->orig)\n"),
    ("an ACK passes READs that are not answered", "resp_emit.c",
     "\tif (resp->reply_emit != resp->reply_next)\n\t\treturn JOB_REPLY;\n\tif (resp->nak_due)\n"
     "\t\treturn JOB_NAK;\n\treturn resp->ack_due ? JOB_ACK : JOB_NONE;",
     "\tif (resp->ack_due)\n\t\treturn JOB_ACK;\n\tif (resp->reply_emit != resp->reply_next)\n"
     "\t\treturn JOB_REPLY;\n\treturn resp->nak_due ? JOB_NAK : JOB_NONE;"),
    ("an ACK speaks for one packet too many", "resp_emit.c",
     "OOO_AETH_NO_CREDIT, ep->resp.eseq - 1,", "OOO_AETH_NO_CREDIT, ep->resp.eseq,"),
    ("the key lives on after SEND with invalidate", "resp_send.c",
     "return ooo_env_invalidate(ep, rkey) == OOO_OK ? RESP_DONE : RESP_NAK_ACCESS;",
     "return rkey ? RESP_DONE : RESP_NAK_ACCESS;"),
    ("a receive completes with the length of its last packet", "resp_send.c",
     "ooo_resp_recv_done(ep, OOO_WC_SUCCESS, h, resp->offset);",
     "ooo_resp_recv_done(ep, OOO_WC_SUCCESS, h, turn->pkt->payload_len);"),
    ("an unaligned atomic is executed", "resp_atomic.c",
     "\tif (h->va & 7)\n\t\treturn RESP_NAK_INVALID;\n", ""),
    ("a request completes before it is acknowledged", "req_complete.c",
     "return req->una == end;", "return req->una == end || req->high == end;"),
    ("a fence is ignored", "req_start.c",
     "if (wqe->flags & OOO_SEND_FENCE)", "if (0)"),
    ("READ data is placed twice", "req_response.c",
     "\tif (ooo_req_have(ep, seq))\n\t\treturn dup",
     "\tif (ooo_before(seq, ep->req.una))\n\t\treturn dup"),
    ("READ data is placed out of order without being asked to", "req_response.c",
     "if ((ep->attr.ooo || in_order) && place", "if (place"),
    ("PSNs do not wrap", "ep_priv.h",
     "return base + (u32)psn_diff(psn, base & PSN_MASK);",
     "return (base & ~PSN_MASK) + psn;"),
    ("the window is not kept", "req_window.c",
     "return rest(ooo_req_window(ep), span);", "return rest(4 * ooo_req_window(ep), span);"),
    ("max_rd_atomic is not kept", "req_read.c",
     "ooo_req_extra_reads(ep) >= ep->attr.max_rd_atomic;",
     "ooo_req_extra_reads(ep) > ep->attr.max_rd_atomic;"),
    ("retries are given up too early", "req_timer.c",
     "ep->req.progress_at + 2 * t *", "ep->req.progress_at + t / 2 *"),
    ("retries are never given up", "req_timer.c",
     "\tif (now >= give_up_at(ep)) {", "\tif (0) {"),
    ("a lost tail is not sent again", "req_timer.c",
     "\tprobe_or_go_back(ep, now);\n", ""),
    ("a gap is reported at once", "reorder.c",
     "\tr->deadline = r->since + window(r, tun);\n\treturn true;",
     "\tr->deadline = now;\n\treturn true;"),
    ("a remote error fails the oldest request", "req_ack.c",
     "return ooo_req_fail_seq(ep, seq, OOO_WC_REM_ACCESS_ERR);",
     "return ooo_req_fail_seq(ep, ep->req.una, OOO_WC_REM_ACCESS_ERR);"),
    ("an RNR wait is half as long", "req_rnr.c",
     "req->rnr_until = now + ooo_rnr_ns(code);", "req->rnr_until = now + ooo_rnr_ns(code) / 2;"),
    ("receives are not flushed", "flush.c",
     "\tif (ooo_env_has_srq(ep)) {\n\t\tlast_wqe(ep);", "\tif (1) {\n\t\tlast_wqe(ep);"),
    ("a message is counted twice", "resp_exec.c",
     "\t\tresp->msn++;\n", "\t\tresp->msn += 2;\n"),
    ("a READ's answer ends with a MIDDLE", "resp_emit.c",
     "return i + 1 == to ? OOO_OP_READ_RESP_LAST : OOO_OP_READ_RESP_MIDDLE;",
     "return OOO_OP_READ_RESP_MIDDLE;"),
    ("an early placed WRITE is not looked at again after an invalidation", "resp_exec.c",
     "turn.recheck = slot->invalidations != ep->resp.invalidations;", "turn.recheck = false;"),
    ("unsignaled requests complete loudly", "req_complete.c",
     "bool signaled = ep->attr.sq_sig_all ||", "bool signaled = !ep->attr.sq_sig_all ||"),
    ("the parser does not look at the length", "parse.c",
     "\tif (!headers || avail < headers)\n", "\tif (!headers)\n"),
    ("the ICRC covers the hop limit", "icrc.c",
     "\tip[8] = 0xff;\t\t/* time to live */\n", ""),
    ("every peer is taken to be capable", "ep.c",
     "if (ep->sack && (pkt->h.rsvd7 & OOO_BTH_CAP))", "if (ep->sack)"),
    ("what was learned of the peer is not forgotten", "ep.c",
     "\tep->heard = false;\n\tep->capable = false;\n", ""),
    ("what is sent again is not marked", "req_emit.c",
     "(again && ep->capable ? OOO_BTH_RETX : 0)", "(0 && again ? OOO_BTH_RETX : 0)"),
    ("a SACK reports what is not here", "resp_sack.c",
     "= ooo_slots_word(&resp->slots, seq);", "= ooo_slots_word(&resp->slots, seq) | 2;"),
    ("a SACK takes back what another reported", "resp_sack.c",
     "= ooo_slots_word(&resp->slots, seq);",
     "= ooo_slots_word(&resp->slots, seq) & (resp->early_acks & 1 ? ~0ull : ~12ull);"),
    ("what a SACK reports counts as executed", "req_sack.c",
     "\t\t\tooo_req_delivered(ep, s, now);\n",
     "\t\t\tooo_req_executed(ep, s + 1, now);\n"),
    ("a hole is lost at once", "req_rack.c",
     "\t\tif (age >= limit)\n", "\t\tif (1)\n"),
    ("lost packets wait for the timeout", "req_rack.c",
     "\tscan(ep, now);\n", ""),
    ("the reordering window learns nothing", "req_rack.c",
     "\treq->reo = bounded(ep, 2 * late);\n", ""),
    ("a slow path's packets are lost as soon as a fast one's arrive", "req_rack.c",
     "\treturn !path->share || (path->rack.any &&\n", "\treturn 1 || (path->rack.any &&\n"),
    ("a path on which nothing arrives is not left", "req_paths.c",
     "\t\tleave(ep, path, now);\n", "\t\t;\n"),
    ("a path that was left is never tried again", "req_paths.c",
     "\tif (may_probe)\n", "\tif (0)\n"),
    ("all packets take one path", "req_paths.c",
     "\tif (!path->out++)\n", "\tif (0)\n"),
    ("ACKs take one path", "resp_paths.c",
     "\tresp->ack_path = next_for_ack(ep);\n", ""),
    ("missing responses wait for the timeout", "req_hole.c",
     "\task_below(ep, overdue_to(ep, now));\n", ""),
    ("a replay replaces another part's", "resp_reply.c",
     "\tr->to = max_t(u32, r->to, wish->to);\n", "\tr->to = wish->to;\n"),
    ("what an RNR NAK revokes has no record", "req_sent.c",
     "\t\t\trenew(ep, s, false, now);\n", ""),
    ("a packet behind a failed request waits as lost", "req_fail.c",
     "\tooo_req_forgive(ep, req->halt);\n", ""),
    ("an old packet shows what the peer can", "resp_rx.c",
     "\tif (where != OLD && where != TOO_FAR)\n", "\tif (where != TOO_FAR)\n"),
    ("the window never grows", "req_window.c",
     "\t\tif (!flow->up_wait)\n", "\t\tif (0)\n"),
    ("random loss shrinks the window", "req_window.c",
     "\tif (rate >= wanted - wanted / 20) {\n", "\tif (1) {\n"),
    ("congestion marks are ignored", "req_window.c",
     "\tcut(ep, max_t(u32, ooo_req_window(ep) / 8, 1), now);\n", ""),
    ("notifications are ignored", "req_window.c",
     "\tcut(ep, max_t(u32, ooo_req_window(ep) / 2, 1), now);\n", ""),
]


def compile_to(target, source, include):
    subprocess.run(["cc", *CFLAGS, f"-I{include}", f"-I{HERE}", "-c", "-o", target, source],
                   check=True)


def snapshot():
    """A copy of the core, so that nobody's edits get between, and its objects."""
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(CORE, OUT / "src")
    (OUT / "obj").mkdir()
    for p in sorted((OUT / "src").glob("*.c")):
        compile_to(OUT / "obj" / f"core_{p.stem}.o", p, OUT / "src")
    for name in sorted(set(sources_of("UNIT_SRC") + sources_of("SIM_SRC") + ["crc32.c"])):
        compile_to(OUT / "obj" / f"{pathlib.Path(name).stem}.o", HERE / name, OUT / "src")


def objects_with(changed, text):
    """The core's objects with one file changed; all anew for a header."""
    if changed.endswith(".c"):
        (OUT / "changed.c").write_text(text, encoding="utf-8")
        compile_to(OUT / "changed.o", OUT / "changed.c", OUT / "src")
        skip = f"core_{pathlib.Path(changed).stem}.o"
        return [OUT / "changed.o"] + [p for p in (OUT / "obj").glob("core_*.o") if p.name != skip]
    tree = OUT / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(OUT / "src", tree)
    (tree / changed).write_text(text, encoding="utf-8")
    for p in tree.glob("*.c"):
        compile_to(tree / f"{p.stem}.o", p, tree)
    return list(tree.glob("*.o"))


def link(binary, sources, core):
    tests = [OUT / "obj" / f"{pathlib.Path(s).stem}.o" for s in sources + ["crc32.c"]]
    subprocess.run(["cc", *CFLAGS, "-o", OUT / binary, *core, *tests], check=True)
    return OUT / binary


def noticed(command, pattern):
    """The first complaint of a run, or None."""
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, errors="replace",
                          check=False)
    found = re.search(pattern, done.stdout, re.M)
    if found:
        return found.group(0).strip()
    return f"exit code {done.returncode}" if done.returncode else None


def failing(unit):
    """Unit tests that fail: {name: why}."""
    done = subprocess.run([unit], cwd=HERE, capture_output=True, text=True, errors="replace",
                          check=False)
    found = dict(re.findall(r"^FAILED +\w+: (\w+): (.*)$", done.stdout, re.M))
    if done.returncode and not found:
        found["(all)"] = f"exit code {done.returncode}"
    return found


def sources_of(name):
    text = (HERE / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.search(rf"^{name} := (.*)$", text, re.M).group(1).split()


def try_mutant(file, old, new, seconds, known):
    text = (OUT / "src" / file).read_text(encoding="utf-8")
    if text.count(old) != 1:
        print(f"        the text is {text.count(old)} times in {file}")
        return None, None
    core = objects_with(file, text.replace(old, new))
    unit = link("unit", sources_of("UNIT_SRC"), core)
    news = {n: why for n, why in failing(unit).items() if n not in known}
    by_unit = next((f"{n}: {why}" for n, why in news.items()), None)
    sim = link("sim", sources_of("SIM_SRC"), core)
    by_sim = noticed([sim, "--seconds", str(seconds), "--seeds", "100000", "--stop"],
                     r"^SEED.*FAILED.*$") or noticed([sim, "--rates", ""], r"^.*FAILED.*$")
    return by_unit, by_sim


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=40, help="simulation of each, at most")
    parser.add_argument("only", nargs="?", help="mutants whose description has this")
    args = parser.parse_args()
    rows, missed = [], 0
    snapshot()
    core = list((OUT / "obj").glob("core_*.o"))
    known = failing(link("unit", sources_of("UNIT_SRC"), core))
    if known:
        print("fail without any mutant, and do not count:", *known)
    for what, file, old, new in MUTANTS:
        if args.only and args.only not in what:
            continue
        by_unit, by_sim = try_mutant(file, old, new, args.seconds, known)
        caught = bool(by_unit or by_sim)
        missed += not caught
        rows.append({"mutant": what, "file": file, "unit": by_unit, "sim": by_sim})
        print(f"{'caught' if caught else 'MISSED':7} {what}", flush=True)
        print(f"        unit: {by_unit}\n        sim:  {by_sim}", flush=True)
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(f"mutants: {len(rows) - missed} caught, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
