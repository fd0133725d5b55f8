/** Inputs nest a few levels. Libraries walk a value by recursion, and take long or overflow the stack where it is deep. */
const deepest = 100

/** Whether JSON text nests so deep that it is refused before it is parsed. */
export function nestsTooDeep(json: Uint8Array): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (isText) {
      if (byte === 0x5c) at += 1
      else if (byte === 0x22) isText = false
    } else if (byte === 0x22) isText = true
    else if (byte === 0x5b || byte === 0x7b) depth += 1
    else if (byte === 0x5d || byte === 0x7d) depth -= 1
    if (depth > deepest) return true
  }
  return false
}
