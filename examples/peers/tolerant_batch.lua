-- Temperatures of many stations, one file each, in pieces of 500, to the mean
-- of each month. A piece that cannot be read is tried again, and then left
-- out; when more than a twentieth of them were, there is no result.
--
-- AWS Step Functions, aws-stepfunctions-examples,
-- sam/demo-distributed-map-data-processing, dmap-temperatures.asl.json: 85
-- lines, and the functions that it calls.
local pawl = require "pawl"

local batch = pawl.workflow {
  code = "peers.tolerant_batch",
  input = { files = "integer > 0", ["broken?"] = "integer" },
}

batch:each("pieces", {
  items = function(ctx)
    local pieces = pawl.array {}
    for first = 1, ctx.input.files, 500 do
      local last = math.min(first + 499, ctx.input.files)
      pieces[#pieces + 1] = { first = first, last = last }
    end
    return pieces
  end,
  branch = "read",
  window = 100,
  tolerate = "5%",
  into = "pieces",
  next = "reduce",
})

--- A station's mean of a month; there is none of a file that is broken.
local function temperature(ctx, number, month)
  if number == ctx.input.broken then
    error { code = "unreadable", message = ("file %d"):format(number) }
  end
  return 10 - 10 * math.cos(month * math.pi / 6) + number % 3
end

batch:step("read", {
  retry = { max = 6, base = 2 },
  run = function(ctx)
    local piece = ctx.token.data.item
    local sums = pawl.array {}
    for month = 1, 12 do
      sums[month] = 0
      for number = piece.first, piece.last do
        sums[month] = sums[month] + temperature(ctx, number, month)
      end
    end
    return { sums = sums, files = piece.last - piece.first + 1 }
  end,
  next = "pieces",
})

batch:step("reduce", {
  run = function(ctx)
    local means, files = pawl.array {}, 0
    for _, piece in ipairs(ctx.vars.pieces) do
      files = files + (piece.files or 0)
      for month, sum in ipairs(piece.sums or {}) do
        means[month] = (means[month] or 0) + sum
      end
    end
    for month, sum in ipairs(means) do means[month] = sum / files end
    return { files = files, means = means }
  end,
})

batch:finish("done", { output = function(ctx) return ctx.output.reduce end })

return batch
