import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { findProgram } from '../host-runtimes.ts'
import type { BuildStage } from './stage.ts'

/** What images of Python have and a system's Python lacks: the name `python`, and a pip that installs without a virtual environment. */
export async function preparePython(stage: BuildStage, searchPath: string): Promise<void> {
  stage.env = { PIP_BREAK_SYSTEM_PACKAGES: '1', PIP_ROOT_USER_ACTION: 'ignore' }
  const program = findProgram('python3', searchPath)
  if (program === null || findProgram('python', searchPath) !== null) return
  const folder = path.join(stage.paths.root, 'usr/local/bin')
  await mkdir(folder, { recursive: true })
  await symlink(program, path.join(folder, 'python'))
}
