import { expect, it } from 'vitest'
import type { AppError } from '../../../src/errors.ts'
import { readFilesUrl } from '../../../src/files/address.ts'

const bucket = { kind: 'bucket', bucket: 'files', prefix: '', endpoint: undefined, region: undefined }

it.each([
  ['file:///srv/longshore/', { kind: 'folder', dir: '/srv/longshore' }],
  ['file:///srv/with%20space', { kind: 'folder', dir: '/srv/with space' }],
  ['s3://files', bucket],
  ['s3://files/', bucket],
  ['s3://files/team/a/', { ...bucket, prefix: 'team/a/' }],
  [
    's3://files/a?endpoint=http://127.0.0.1:9000&region=eu-west-1',
    { ...bucket, prefix: 'a/', endpoint: 'http://127.0.0.1:9000', region: 'eu-west-1' },
  ],
])('reads %s', (url, address) => {
  expect(readFilesUrl(url)).toEqual(address)
})

it.each([
  ['https://files', 'neither'],
  ['not a url', 'neither'],
  ['file://host/path', 'whole path'],
  ['file:///', 'whole path'],
  ['s3://', 'name a bucket'],
  ['s3://Up_per', 'name a bucket'],
  ['s3://key:secret@files', 'credentials'],
  ['s3://files?endpont=http://x', 'endpont is unknown'],
  ['s3://files?endpoint=ftp://x', 'endpoint must be'],
  ['s3://files?endpoint=http://u:p@x', 'endpoint must be'],
  ['s3://files/a/../b%00', 'prefix'],
])('refuses %s', (url, problem) => {
  const refuse = () => readFilesUrl(url)
  expect(refuse).toThrow('LONGSHORE_FILES_URL cannot be used')
  try {
    refuse()
  } catch (error) {
    expect((error as AppError).details).toContain(problem)
    expect((error as AppError).details).not.toContain('secret@')
  }
})
