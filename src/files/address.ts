import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../errors.ts'

export interface BucketAddress {
  kind: 'bucket'
  bucket: string
  /** Begins each key; ends with a slash unless it is empty. */
  prefix: string
  /** Address of an S3-compatible server; undefined: AWS. */
  endpoint: string | undefined
  /** Undefined: `AWS_REGION`, or `us-east-1` with an endpoint. */
  region: string | undefined
}

type FilesAddress = { kind: 'folder'; dir: string } | BucketAddress

const parameters = ['endpoint', 'region']

/** Parses `file:///path` or `s3://bucket/prefix?endpoint=URL&region=R`. Throws `AppError` of kind `invalid`. */
export function readFilesUrl(text: string): FilesAddress {
  const url = parsed(text)
  if (url.username || url.password)
    throw invalid('It holds credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead')
  return url.protocol === 'file:' ? folderOf(url) : bucketOf(url)
}

function parsed(text: string): URL {
  try {
    const url = new URL(text)
    if (url.protocol === 'file:' || url.protocol === 's3:') return url
  } catch {
    // The message below names the expected form.
  }
  throw invalid('It is neither a file: nor an s3: address')
}

function folderOf(url: URL): FilesAddress {
  if (url.host !== '' || url.search !== '' || url.hash !== '' || url.pathname === '/')
    throw invalid('It must name a folder by its whole path')
  return { kind: 'folder', dir: path.resolve(fileURLToPath(url)) }
}

function bucketOf(url: URL): BucketAddress {
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name))
  if (unknown !== undefined) throw invalid(`The parameter ${unknown} is unknown`)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname) || url.port !== '')
    throw invalid('It must name a bucket')
  const prefix = decodeURI(url.pathname).replaceAll(/^\/+|\/+$/g, '')
  if (!/^[A-Za-z0-9!_.*'()/-]*$/.test(prefix) || prefix.split('/').some((one) => /^\.*$/.test(one) && prefix))
    throw invalid('Its prefix may have letters, digits, - _ . and / only')
  return {
    kind: 'bucket',
    bucket: url.hostname,
    prefix: prefix && `${prefix}/`,
    endpoint: endpointOf(url.searchParams.get('endpoint')),
    region: url.searchParams.get('region') || undefined,
  }
}

function endpointOf(text: string | null): string | undefined {
  if (!text) return undefined
  if (!/^https?:\/\/[^?#@\s]+$/.test(text) || !URL.canParse(text))
    throw invalid('The endpoint must be an http or https address without user, query or fragment')
  return text
}

function invalid(problem: string): AppError {
  return new AppError('invalid', 'LONGSHORE_FILES_URL cannot be used', {
    details: `${problem}. Write it as file:///path or s3://bucket/prefix?endpoint=https://host:9000&region=us-east-1.`,
  })
}
