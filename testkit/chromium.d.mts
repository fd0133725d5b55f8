export const chromiumPath: string | null
export const noBrowser: string | null
export const chromiumArgs: string[]
