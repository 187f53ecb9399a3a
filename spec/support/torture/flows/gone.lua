-- Past its time as soon as it has ended: it is purged.
return require "spec.support.torture.work".brief("t.gone", {
  completed = "0s" })
