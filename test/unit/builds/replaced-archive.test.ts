import { renameSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { ArchiveLedger, archiveLimits, type EntryKind } from '../../../src/builds/archive-ledger.ts'
import { createSourceWriter } from '../../../src/builds/source-writer.ts'
import { unpackTar } from '../../../src/builds/unpack-tar.ts'
import { tgz } from '../../../testkit/builds/archives.ts'
import { UnpackFixture } from '../../../testkit/builds/unpack-fixture.ts'

const fixture = new UnpackFixture()

it('what was checked is what is written, also when another archive takes its place meanwhile', async () => {
  const [file, other] = [path.join(fixture.dir, 'upload-1.tgz'), path.join(fixture.dir, 'upload-2.tgz')]
  await writeFile(file, tgz([{ name: 'Dockerfile', content: 'checked' }]))
  await writeFile(other, tgz([{ name: 'Dockerfile', content: 'x'.repeat(100_000) }]))
  class Replacing extends ArchiveLedger {
    override place(name: string, kind: EntryKind, size: number) {
      renameSync(other, file)
      return super.place(name, kind, size)
    }
  }
  const ledger = new Replacing(archiveLimits, 1_000)
  await unpackTar(file, ledger, createSourceWriter(fixture.dir), new AbortController().signal)
  expect(await readFile(path.join(fixture.dir, 'Dockerfile'), 'utf8')).toBe('checked')
})
