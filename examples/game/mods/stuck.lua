-- This one does not even get to its first node.
local text = "a"
while true do text = text .. text end
