-- Past its time as soon as it has ended: it is purged but for its attributes.
return require "spec.support.torture.work".brief("t.mark", {
  completed = "0s", keep_attributes = true })
