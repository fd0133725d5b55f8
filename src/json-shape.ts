/** Inputs nest a few levels. Libraries walk a value by recursion, and take long or overflow the stack where it is deep. */
const deepest = 100
/** Checks and corrections take time for each field; no honest input comes near this. */
const mostFields = 10_000

/** Why JSON text is refused before it is parsed: how deep it nests, and how many fields its objects have. Null: it is not. */
export function shapeProblem(json: Uint8Array): string | null {
  let depth = 0
  let fields = 0
  let isText = false
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (isText) {
      if (byte === 0x5c) at += 1
      else if (byte === 0x22) isText = false
    } else if (byte === 0x22) isText = true
    else if (byte === 0x3a) fields += 1
    else if (byte === 0x5b || byte === 0x7b) depth += 1
    else if (byte === 0x5d || byte === 0x7d) depth -= 1
    if (depth > deepest) return `nests more than ${deepest} levels deep`
    if (fields > mostFields) return `has more than ${mostFields.toLocaleString('en')} fields`
  }
  return null
}
