// ESC sequences: CSI (colors, cursor), OSC and the other strings up to their end, and two-character ones.
export const ansi =
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]|\u009b[0-?]*[ -/]*[@-~]/g

// Invisible and reordering characters: control, direction, zero width, fillers, tags, unpaired surrogates.
const hiddenClass = String.raw`[\p{Default_Ignorable_Code_Point}\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]`
export const hidden = new RegExp(hiddenClass, 'gu')
const anyHidden = new RegExp(hiddenClass, 'u')
const unusual = /[^\t\n\u0020-\u007e]/

/** Whether text has such characters. Nearly no text has: a cheap test comes first. */
export function hasHidden(text: string): boolean {
  return unusual.test(text) && anyHidden.test(text)
}
