-- Past its time as soon as it has ended: it is archived.
return require "spec.support.torture.work".brief("t.put", {
  completed = "0s", archive = true })
