import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { bundledEntry } from '../../testkit/engines/supervisor-entry.ts'

const run = promisify(execFile)

it('a program goes on after uncaught errors, with a log on a full disk, and without open files', async () => {
  const command = bundledEntry('testkit/fixtures/failing-program.ts')
  const script = 'ulimit -n 64; exec "$@" 2>/dev/full'
  const { stdout } = await run('/bin/sh', ['-c', script, 'sh', ...command])
  expect(stdout.split('\n')).toEqual([
    'logged',
    'caught rejected',
    'caught thrown',
    'unavailable',
    'the end',
    '',
  ])
})

it('programs that the server starts cannot end it for lack of open files: spawn-child.ts starts them', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/^(cli|console)\//.test(name),
  )
  const direct = files.filter((name) =>
    /import \{[^}]*\bspawn\b[^}]*\} from 'node:child_process'/.test(
      readFileSync(path.join('src', name), 'utf8'),
    ),
  )
  // The containers of the supervisor: their start checks for a process first.
  expect(direct.sort()).toEqual(['engines/process/supervisor/prewarmed-root.ts', 'spawn-child.ts'])
})
