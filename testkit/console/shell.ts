import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

/** A folder with the smallest console that a server can serve: one page and one script. The caller removes it. */
export function makeConsoleShell(): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'longshore-shell-'))
  mkdirSync(path.join(folder, 'assets'))
  writeFileSync(path.join(folder, 'index.html'), '<!doctype html><title>shell</title>')
  const assets = { 'a.js': { type: 'text/javascript', encodings: [] } }
  writeFileSync(path.join(folder, 'assets.json'), JSON.stringify(assets))
  writeFileSync(path.join(folder, 'assets', 'a.js'), 'run()')
  return folder
}
