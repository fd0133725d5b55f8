/**
 * A login shell resets PATH, so the programs of the image would be missing (2.5). A shell around it keeps PATH, and the
 * login shell puts it before its own. Other commands stay as they are.
 */
export function keepingPath(words: readonly string[]): string[] {
  const [shell, flag, script, ...rest] = words
  if (shell !== '/bin/sh' || flag !== '-lc' || script === undefined) return [...words]
  return ['/bin/sh', '-c', keep, `${restore}${script}`, ...rest]
}

// The script and its arguments are words of their own, so nothing in them can change these two.
const keep = 'export LONGSHORE_PATH="$PATH"; exec /bin/sh -lc "$0" "$@"'
const restore = `export PATH="$LONGSHORE_PATH\${PATH:+:$PATH}"; unset LONGSHORE_PATH; `
