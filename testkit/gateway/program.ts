import { rm } from 'node:fs/promises'
import path from 'node:path'
import { build } from 'esbuild'

/** Makes a script that runs `gatewayCommand`. */
export async function gatewayProgram(): Promise<{ program: string; remove(): Promise<void> }> {
  const program = path.resolve(`node_modules/.cache/gateway-test-${process.pid}-${Date.now()}.mjs`)
  await build({
    stdin: {
      contents: `import { gatewayCommand } from './src/gateway/control/command.ts'; await gatewayCommand(process.argv.slice(2))`,
      resolveDir: process.cwd(),
    },
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['pino'],
    logLevel: 'error',
  })
  return { program, remove: () => rm(program, { force: true }) }
}
