import type { Instruction } from '../dockerfile/parse.ts'
import { EngineFailure } from '../engine.ts'

/** File system errors that a tenant's own names can cause. The path in the error is the host's, so it is left out. */
const fileProblems: Readonly<Record<string, string>> = {
  EISDIR: 'a folder exists where a file should go',
  ENOTDIR: 'a file exists where a folder should be',
  EEXIST: 'something else exists there already',
  ENOENT: 'a file is missing, or the target of a link is missing',
  ENAMETOOLONG: 'a name is too long',
  EACCES: 'a file cannot be read or written',
  ELOOP: 'links form a loop',
}

export function fileFailure(instruction: Instruction, error: NodeJS.ErrnoException): Error {
  const why = fileProblems[error.code ?? '']
  if (why === undefined) return error
  return new EngineFailure(
    'build step',
    `Dockerfile line ${instruction.line}: ${instruction.keyword} ${instruction.text.slice(0, 200)}: ${why}.`,
    { cause: error },
  )
}
