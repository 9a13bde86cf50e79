# The functions of jq 1.8 that are written in jq. A name that begins with `_` is of no use to a filter.

def error(message): message | error;
def select(f): if f then . else empty end;
def map(f): [.[] | f];
def map_values(f): .[] |= f;

# Types
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def values: select(. != null);
def iterables: select(type | . == "array" or . == "object");
def scalars: select(type | . != "array" and . != "object");
def toarray: if type == "array" then . else [.] end;

# Recursion
def recurse: ..;
def recurse(f): def deeper: ., (f | deeper); deeper;
def recurse(f; keep): def deeper: ., (f | select(keep) | deeper); deeper;
def while(keep; next): def again: if keep then ., (next | again) else empty end; again;
def until(done; next): def again: if done then . else (next | again) end; again;
def repeat(f): def again: f, again; again;
def walk(f):
  def deeper: (if type == "object" then map_values(deeper) elif type == "array" then map(deeper) else . end) | f;
  deeper;

# Outputs
def range($from; $to; $by):
  if [$from, $to, $by | type] != ["number", "number", "number"] then error("Range bounds must be numeric")
  elif $by == 0 then empty
  else _range($from; $to; $by) end;
def range($from; $to): range($from; $to; 1);
def range($to): range(0; $to; 1);
def limit($n; f):
  if $n > 0 then _limit($n; f) elif $n == 0 then empty else error("limit doesn't support negative count") end;
def skip($n; f):
  if $n > 0 then _skip($n; f) elif $n == 0 then f else error("skip doesn't support negative count") end;
def nth($n; f): if $n < 0 then error("nth doesn't support negative indices") else first(skip($n; f)) end;
def isempty(f): first((f | false), true);
def all(f; condition): isempty(f | condition and empty);
def any(f; condition): isempty(f | condition or empty) | not;
def all(condition): all(.[]; condition);
def any(condition): any(.[]; condition);
def all: all(.[]; .);
def any: any(.[]; .);
def add(f): reduce f as $x (null; . + $x);
def add: add(.[]);

# Lists
def first: .[0];
def last: .[-1];
def nth($n): .[$n];
def flatten: _flatten(-1);
def flatten($depth): if $depth < 0 then error("flatten depth must not be negative") else _flatten($depth) end;
def unique_by(f): [group_by(f)[] | .[0]];
def unique: unique_by(.);
def min_by(f): [_min_by(f)] | .[0];
def max_by(f): [_max_by(f)] | .[0];
def min: min_by(.);
def max: max_by(.);
def index($x): indices($x) | .[0];
def rindex($x): indices($x) | .[-1:] | .[0];
def in(xs): . as $x | xs | has($x);
def inside(xs): . as $x | xs | contains($x);
def combinations:
  if length == 0 then [] else .[0][] as $first | (.[1:] | combinations) as $others | [$first] + $others end;
def combinations(n): . as $list | [range(n) | $list] | combinations;
def transpose: [range(0; map(length) | max // 0) as $i | [.[][$i]]];

# Objects
def to_entries: [keys_unsorted[] as $key | {$key, value: .[$key]}];
def from_entries:
  reduce .[] as $entry ({};
    . + ($entry | {(.key // .Key // .name // .Name): (if has("value") then .value else .Value end)}));
def with_entries(f): to_entries | map(f) | from_entries;

# Paths
def getpath($path):
  if ($path | type) == "array" then reduce $path[] as $key (.; .[$key])
  else error("Path must be specified as an array") end;
def paths: path(..) | select(. != []);
def paths(f): path(.. | select(f)) | select(. != []);
def leaf_paths: paths(scalars);
def del(f): delpaths([path(f)]);
def pick(f): . as $whole | reduce path(f) as $path (null; setpath($path; $whole | getpath($path)));

# Streams
def tostream:
  path(def deeper: (.[]? | deeper), .; deeper) as $path
  | getpath($path)
  | reduce path(.[]?) as $key ([$path, .]; [$path + $key]);
def fromstream(f):
  {whole: null, done: false} as $start
  | foreach f as $event ($start;
      (if .done then $start else . end)
      | if ($event | length) == 2
        then .done = ($event[0] == []) | setpath(["whole"] + $event[0]; $event[1])
        else .done = (($event[0] | length) == 1) end;
      if .done then .whole else empty end);
def truncate_stream(f):
  . as $depth | null | f
  | . as $event
  | if (.[0] | length) > $depth then setpath([0]; $event[0][$depth:]) else empty end;

# Tables
def INDEX(f; key): reduce f as $row ({}; .[$row | key | tostring] = $row);
def INDEX(key): INDEX(.[]; key);
def JOIN($index; key): [.[] | [., $index[key]]];
def JOIN($index; f; key): f | [., $index[key]];
def JOIN($index; f; key; joined): f | [., $index[key]] | joined;
def IN(f): any(f == .; .);
def IN(source; f): any(source == f; .);

# Numbers
def abs: if . < 0 then - . else . end;
def fabs: if type == "number" then abs else error("\(type) (\(tojson)) number required") end;
def isfinite: type == "number" and (isinfinite | not);
def finites: select(isfinite);
def normals: select(isnormal);
def nearbyint: rint;
def pow10: exp10;
def gamma: lgamma;
def lgamma_r: [lgamma, (if . < 0 and floor % 2 != 0 then -1 else 1 end)];
def logb: if . == 0 then -infinite elif isinfinite then infinite elif isnan then . else frexp[1] - 1 end;
def significand: if . == 0 or isinfinite or isnan then . else frexp[0] * 2 end;
def drem($x; $y): remainder($x; $y);
def nexttoward($x; $y): nextafter($x; $y);
def scalb($x; $e): $x * pow(2; $e);
def have_literal_numbers: true;
def have_decnum: false;

# Texts
def ascii: [.] | implode;
def ltrimstr($start): if startswith($start) then .[$start | length:] else . end;
def rtrimstr($end): if endswith($end) then .[:length - ($end | length)] else . end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);

# Regular expressions: a pattern may come in a list with its flags.
def _pattern($given):
  if ($given | type) == "string" then [$given, null]
  elif ($given | type) == "array" and ($given | length) > 0 then $given
  else error(($given | type) + " not a string or array") end;
def _named: reduce (.captures[] | select(.name != null)) as $capture ({}; .[$capture.name] = $capture.string);
def test($re; $flags): _test($re; $flags);
def test($given): _pattern($given) as [$re, $flags] | _test($re; $flags);
def match($re; $flags): _matches($re; $flags)[];
def match($given): _pattern($given) as [$re, $flags] | _matches($re; $flags)[];
def capture($re; $flags): match($re; $flags) | _named;
def capture($given): match($given) | _named;
def scan($re; $flags):
  match($re; "g" + $flags) | if .captures == [] then .string else [.captures[].string] end;
def scan($re): scan($re; null);
def splits($re; $flags): _pieces($re; "g" + $flags)[] | strings;
def splits($re): splits($re; null);
def split($re; $flags): [splits($re; $flags)];
def sub($re; f; $flags):
  _pieces($re; $flags) as $pieces
  | (reduce range(0; ($pieces | length) - 1; 2) as $i ([];
      [$pieces[$i + 1] | _named | f] as $new
      | reduce range(0; $new | length) as $n (.; .[$n] += $pieces[$i] + $new[$n]))) as $texts
  | if $texts == [] then . else $texts[] + $pieces[-1] end;
def sub($re; f): sub($re; f; null);
def gsub($re; f; $flags): sub($re; f; "g" + $flags);
def gsub($re; f): sub($re; f; "g");

# Dates. The native functions overflow beyond these seconds and months.
def _time:
  if type == "number" then
    if . >= -377705023201 and . <= 253402207200 then . else error("\(tojson) seconds are outside the years -9999 to 9999") end
  elif type == "array" and (.[1] | type == "number" and (. < 0 or . >= 12)) then
    error("month \(.[1]) is not from 0 to 11")
  else . end;
def gmtime: _time | _gmtime;
def mktime: _time | _mktime;
def strftime($format): _time | _strftime($format);
def todateiso8601: strftime("%Y-%m-%dT%H:%M:%SZ");
def fromdateiso8601: strptime("%Y-%m-%dT%H:%M:%SZ") | mktime;
def todate: todateiso8601;
def fromdate: fromdateiso8601;
def date: todate;
def dateadd(unit; $n): . + $n;
def datesub(unit; $n): . - $n;
