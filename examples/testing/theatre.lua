-- The theatre's client; here it is only asked in earnest by nobody.
local theatre = {}

-- How many seats are free, one that was taken under this key among them.
function theatre.free() error "there is no theatre in an example" end

function theatre.take() error "there is no theatre in an example" end

return theatre
