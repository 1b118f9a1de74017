-- SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
--
-- Wireshark and tshark: what rxe_ooo adds to RoCEv2 (docs/wire.md, "Between two ends that both can").
--
--     tshark -X lua_script:scripts/wireshark/rxe_ooo.lua -r run.pcap -Y rxe_ooo.ext
--
-- It follows Wireshark's own InfiniBand dissector: three reserved bits of the BTH's byte 8, and the
-- extension of an ACKNOWLEDGE. The bits mean this only between rxe_ooo ends: other vendors use
-- reserved bits of their own.

local ooo = Proto("rxe_ooo", "rxe_ooo RoCEv2 extension")

local f = {
	cap = ProtoField.bool("rxe_ooo.cap", "Capable of SACK (CAP)", 8, nil, 0x01),
	retx = ProtoField.bool("rxe_ooo.retx", "Sent before (RETX)", 8, nil, 0x02),
	has_ext = ProtoField.bool("rxe_ooo.has_ext", "Extension follows (EXT)", 8, nil, 0x04),
	ext = ProtoField.bytes("rxe_ooo.ext", "Extension"),
	version = ProtoField.uint8("rxe_ooo.ext.version", "Version", base.DEC, nil, 0xf0),
	length = ProtoField.uint8("rxe_ooo.ext.length", "Length (units of 4 bytes)"),
	window = ProtoField.uint16("rxe_ooo.ext.window", "Window (PSNs)"),
	ce = ProtoField.uint16("rxe_ooo.ext.ce", "Requests marked CE"),
	needless = ProtoField.uint8("rxe_ooo.ext.needless", "Needless retransmissions"),
	needless_psn = ProtoField.uint24("rxe_ooo.ext.needless_psn", "PSN of the last needless one"),
	base = ProtoField.uint24("rxe_ooo.ext.base", "Base PSN"),
	word = ProtoField.uint64("rxe_ooo.ext.word", "Bitmap word", base.HEX),
	here = ProtoField.string("rxe_ooo.ext.here", "PSNs that are here"),
}
ooo.fields = f

local expert = {
	length = ProtoExpert.new("rxe_ooo.bad_length", "Length contradicts the packet",
		expert.group.MALFORMED, expert.severity.ERROR),
	version = ProtoExpert.new("rxe_ooo.unknown_version", "Unknown version of the extension",
		expert.group.UNDECODED, expert.severity.NOTE),
}
ooo.experts = expert

local bth = Field.new("infiniband.bth")
local udp = Field.new("udp.length")

local ACK = { [0x11] = true, [0xb1] = true }
local CAP, RETX, EXT = 0x01, 0x02, 0x04
local RC, XRC = 0, 5
local UDP_LEN, BTH_LEN, AETH_LEN, ICRC_LEN, FIXED, WORD = 8, 12, 4, 4, 16, 8

-- Runs of PSNs whose bits are set, as text: "17-19, 24".
local function runs(psns)
	local text, first, last = {}, nil, nil
	local function close()
		if first then
			text[#text + 1] = first == last and tostring(first)
				or string.format("%d-%d", first, last)
		end
	end
	for _, psn in ipairs(psns) do
		if last and psn == (last + 1) % 0x1000000 then
			last = psn
		else
			close()
			first, last = psn, psn
		end
	end
	close()
	return table.concat(text, ", ")
end

-- Bit i of word w is PSN base + 64 w + i. Read by bytes: Lua numbers need not hold 64 bits.
local function set_psns(ext, words)
	local base_psn, found = ext(13, 3):uint(), {}
	for w = 0, words - 1 do
		for i = 0, 63 do
			local octet = ext(FIXED + WORD * w + 7 - math.floor(i / 8), 1):uint()
			if math.floor(octet / 2 ^ (i % 8)) % 2 == 1 then
				found[#found + 1] = (base_psn + 64 * w + i) % 0x1000000
			end
		end
	end
	return found
end

local function extension(ext, tree, pinfo)
	local sub = tree:add(f.ext, ext)
	if ext:len() < 4 then
		sub:add_proto_expert_info(expert.length)
		return
	end
	local version, units = math.floor(ext(0, 1):uint() / 16), ext(1, 1):uint()
	sub:add(f.version, ext(0, 1))
	sub:add(f.length, ext(1, 1))
	if version ~= 1 then
		sub:add_proto_expert_info(expert.version)
		return
	end
	if units * 4 ~= ext:len() or units < 4 or units > 12 or units % 2 == 1 then
		sub:add_proto_expert_info(expert.length)
		return
	end
	local words = (units - 4) / 2
	sub:add(f.window, ext(2, 2))
	sub:add(f.ce, ext(4, 2))
	sub:add(f.needless, ext(6, 1))
	sub:add(f.needless_psn, ext(9, 3))
	sub:add(f.base, ext(13, 3))
	for w = 0, words - 1 do
		sub:add(f.word, ext(FIXED + WORD * w, WORD))
	end
	if words > 0 then
		local here = runs(set_psns(ext, words))
		sub:add(f.here, ext(FIXED, WORD * words), here)
		pinfo.cols.info:append(" SACK " .. here)
	end
end

function ooo.dissector(frame, pinfo, root)
	local header, udp_length = bth(), udp()
	if not header or not udp_length then
		return
	end
	-- The frame may be padded behind it: UDP says where the packet ends.
	local length = udp_length.value - UDP_LEN
	if length < BTH_LEN + ICRC_LEN or header.offset + length > frame:len() then
		return
	end
	local packet = frame(header.offset, length)
	local opcode, bits = packet(0, 1):uint(), packet(8, 1):uint()
	local service = math.floor(opcode / 32)
	if (service ~= RC and service ~= XRC) or bits % 8 == 0 then
		return
	end
	local capable = bits % 2 == CAP
	local tree = root:add(ooo, packet(8, 1))
	tree:add(f.cap, packet(8, 1))
	tree:add(f.retx, packet(8, 1))
	tree:add(f.has_ext, packet(8, 1))
	if capable and math.floor(bits / RETX) % 2 == 1 then
		pinfo.cols.info:append(" [RETX]")
	end
	if capable and math.floor(bits / EXT) % 2 == 1 and ACK[opcode] then
		local begin = BTH_LEN + AETH_LEN
		extension(packet(begin, length - begin - ICRC_LEN), tree, pinfo)
	end
end

register_postdissector(ooo)
