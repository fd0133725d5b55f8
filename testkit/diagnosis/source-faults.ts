import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import type { SourceFiles } from '../builds/sample-sources.ts'
import { brokenStep, nodeServer, nodeSource, pythonServer, pythonSource, untilRequested } from './programs.ts'
import type { Seeded } from './seeded.ts'

/** A fault that source brings with it: deploying it is all there is to do. */
export interface SourceFault {
  name: string
  cause: DiagnosisCause
  source: SourceFiles | Buffer
  preset?: 'STATIC'
  /** It is deployed over a version that serves. */
  afterGood?: true
  /** It is deployed well, and its containers end afterwards. */
  crashes?: true
  /** Its cause stands in its output. */
  prints?: true
}

export function sourceFaults(seeded: Seeded): SourceFault[] {
  const printing = codeFaults(seeded).map((fault) => ({ ...fault, prints: true as const }))
  return [...buildFaults(seeded), ...printing, ...listenFaults(seeded), ...crashFaults(seeded)]
}

function buildFaults(seeded: Seeded): SourceFault[] {
  const word = seeded.word()
  const failing = (text: string) =>
    brokenStep(`RUN echo ${JSON.stringify(text)} >&2; exit ${seeded.number(1, 60)}`)
  const lockText = seeded.pick([
    'error Your lockfile needs to be updated, but yarn was run with --frozen-lockfile',
    'ERR_PNPM_OUTDATED_LOCKFILE Cannot install with frozen-lockfile because pnpm-lock.yaml is not up to date',
    'pyproject.toml changed significantly since poetry.lock was last generated.',
    'Your Pipfile.lock (a1b2) is out of date. Expected: (c3d4).',
  ])
  const junk = Buffer.from(Array.from({ length: 900 }, () => seeded.number(0, 255)))
  return [
    { name: 'no Dockerfile', cause: 'no-dockerfile', source: { [`${word}.html`]: 'x' } },
    {
      name: 'Dockerfile of another name',
      cause: 'no-dockerfile',
      source: { [`Dockerfile.${word}`]: 'FROM node' },
    },
    {
      name: 'static site without a page',
      cause: 'no-dockerfile',
      preset: 'STATIC',
      source: { [`${word}.css`]: 'x' },
    },
    { name: 'archive of junk', cause: 'bad-archive', source: junk },
    {
      name: 'archive that begins as gzip',
      cause: 'bad-archive',
      source: Buffer.concat([Buffer.from([0x1f, 0x8b, 8]), junk]),
    },
    { name: 'step that fails', cause: 'build-step', source: failing(`${word} says no`), afterGood: true },
    { name: 'step of no program', cause: 'build-step', source: brokenStep(`RUN ${word} --all`) },
    { name: 'COPY of nothing', cause: 'build-step', source: brokenStep(`COPY ${word}.json ./`) },
    { name: 'unknown instruction', cause: 'build-step', source: brokenStep(`${word.toUpperCase()} x`) },
    {
      name: 'npm ci without a lock file',
      cause: 'lock-file',
      source: {
        ...brokenStep('RUN npm ci --offline'),
        'package.json': JSON.stringify({ name: word, dependencies: { [word]: '1.0.0' } }),
      },
    },
    { name: 'lock file of another manager', cause: 'lock-file', source: failing(lockText) },
    {
      name: 'build that fills the heap',
      cause: 'build-out-of-memory',
      source: brokenStep(
        `RUN node --max-old-space-size=${seeded.number(10, 24)} -e "const all=[];for(;;)all.push(new Array(999).fill(${seeded.number(1, 9)}.5))"`,
      ),
    },
    {
      name: 'build that is killed',
      cause: 'build-out-of-memory',
      source: failing(seeded.pick(['Killed', 'signal: killed', 'fatal: Cannot allocate memory'])),
    },
    {
      name: 'build on a full disk',
      cause: 'disk-full',
      source: failing(`${word}: write error: No space left on device`),
    },
  ]
}

function codeFaults(seeded: Seeded): SourceFault[] {
  const { word, variable, module } = {
    word: seeded.word(),
    variable: seeded.variable(),
    module: seeded.word(),
  }
  const lacks = seeded.pick([
    `${variable} is not set`,
    `Missing required environment variable: ${variable}`,
    `environment variable "${variable}" must be set`,
    `config error: ${variable} is required`,
  ])
  const code = seeded.number(3, 60)
  const port = seeded.number(2, 19)
  return [
    {
      name: 'node exits',
      cause: 'exits-at-once',
      source: nodeSource(`console.log('bye from ${word}'); process.exit(${code})`),
    },
    {
      name: 'python exits',
      cause: 'exits-at-once',
      source: pythonSource(`import sys\nsys.exit('${word} is enough')`),
    },
    {
      name: 'node without a module',
      cause: 'missing-module',
      source: nodeSource(`require('${module}')`),
      afterGood: true,
    },
    {
      name: 'node without an imported package',
      cause: 'missing-module',
      source: nodeSource(`import '${module}'`, ['node', 'server.mjs'], 'server.mjs'),
    },
    { name: 'python without a module', cause: 'missing-module', source: pythonSource(`import ${module}`) },
    {
      name: 'node without a variable',
      cause: 'missing-variable',
      source: nodeSource(`if (!process.env.${variable}) throw new Error(${JSON.stringify(lacks)})`),
    },
    {
      name: 'python without a variable',
      cause: 'missing-variable',
      source: pythonSource(`import os\nurl = os.environ['${variable}']`),
    },
    {
      name: 'python that says what it lacks',
      cause: 'missing-variable',
      source: pythonSource(`import sys\nsys.exit(${JSON.stringify(lacks)})`),
    },
    { name: 'node without its file', cause: 'bad-command', source: nodeSource('', ['node', `${word}.js`]) },
    {
      name: 'python without its file',
      cause: 'bad-command',
      source: pythonSource('', ['python3', `${word}.py`]),
    },
    {
      name: 'no such working directory',
      cause: 'bad-command',
      source: nodeSource(nodeServer(), ['sh', '-c', `cd /${word} && exec node server.js`]),
    },
    {
      name: 'node without a folder',
      cause: 'missing-file',
      source: nodeSource(`require('fs').readdirSync('/app/${word}-public')`),
    },
    {
      name: 'python without a file',
      cause: 'missing-file',
      source: pythonSource(`open('${word}.json')`),
    },
    { name: 'no such program', cause: 'bad-command', source: nodeSource('', [word, '--serve']) },
    ...outsideFaults(seeded, word, port),
  ]
}

/** Faults outside of the program: services, disk, memory. */
function outsideFaults(seeded: Seeded, word: string, port: number): SourceFault[] {
  return [
    {
      name: 'node refused by a service',
      cause: 'dependency-refused',
      source: nodeSource(`require('net').connect(${port}, '127.0.0.1')`),
    },
    {
      name: 'python refused by a service',
      cause: 'dependency-refused',
      source: pythonSource(`import socket\nsocket.create_connection(('127.0.0.1', ${port}))`),
    },
    {
      name: 'node with a service of no address',
      cause: 'dependency-refused',
      source: nodeSource(`require('net').connect(${port}, '${word}.invalid')`),
    },
    {
      name: 'python on a full disk',
      cause: 'disk-full',
      source: pythonSource(
        `import errno, os\nraise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), '/data/${word}')`,
      ),
    },
    {
      name: 'node that fills its heap',
      cause: 'out-of-memory',
      source: nodeSource('const all = []; for (;;) all.push(new Array(999).fill(0.5))', [
        'node',
        `--max-old-space-size=${seeded.number(10, 24)}`,
        'server.js',
      ]),
    },
    {
      name: 'node that fills its container',
      cause: 'out-of-memory',
      source: nodeSource(
        `console.log('${word} begins'); const held = []; setInterval(() => held.push(Buffer.alloc(64e6, 1)), 20)`,
      ),
    },
    {
      name: 'python out of memory',
      cause: 'out-of-memory',
      source: pythonSource(`raise MemoryError('${word}')`),
    },
  ]
}

function listenFaults(seeded: Seeded): SourceFault[] {
  const other = () => String(seeded.number(21_000, 29_000))
  const refused = `const net = require('net'); const again = () => net.connect(${seeded.number(2, 19)}, '127.0.0.1').on('error', (error) => { console.error('${seeded.word()}:', error.message); setTimeout(again, 500) }); again()`
  return [
    {
      name: 'node on another port',
      cause: 'wrong-port',
      source: nodeSource(nodeServer().replace('process.env.PORT', other())),
    },
    {
      name: 'python on another port',
      cause: 'wrong-port',
      source: pythonSource(pythonServer('0.0.0.0', other())),
    },
    {
      name: 'node on loopback',
      cause: 'loopback-bind',
      source: nodeSource(nodeServer().replace('0.0.0.0', '127.0.0.1')),
    },
    { name: 'python on loopback', cause: 'loopback-bind', source: pythonSource(pythonServer('127.0.0.1')) },
    {
      name: 'node that never listens',
      cause: 'start-timeout',
      source: nodeSource(`console.log('${seeded.word()}'); setInterval(() => {}, 1000)`),
    },
    {
      name: 'python that never listens',
      cause: 'start-timeout',
      source: pythonSource(`import time\nprint('${seeded.word()}')\ntime.sleep(600)`),
    },
    { name: 'node that waits for a service', cause: 'dependency-refused', source: nodeSource(refused) },
  ]
}

function crashFaults(seeded: Seeded): SourceFault[] {
  const crash = { crashes: true } as const
  return [
    {
      name: 'node that ends soon',
      cause: 'crash-loop',
      source: untilRequested(`console.log('${seeded.word()}'); process.exit(${seeded.number(0, 60)})`),
      afterGood: true,
      ...crash,
    },
    {
      name: 'node that loads a module later',
      cause: 'missing-module',
      source: untilRequested(`require('${seeded.word()}')`),
      afterGood: true,
      ...crash,
    },
    {
      name: 'node that is refused later',
      cause: 'dependency-refused',
      source: untilRequested(`require('net').connect(${seeded.number(2, 19)}, '127.0.0.1')`),
      ...crash,
    },
    {
      name: 'node that needs a variable later',
      cause: 'missing-variable',
      source: untilRequested(`throw new Error('${seeded.variable()} is not defined')`),
      ...crash,
    },
  ]
}
