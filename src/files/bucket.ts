import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { AppError } from '../errors.ts'
import type { BucketAddress } from './address.ts'
import type { Files, StoredFile } from './files.ts'

const connectWithinMs = 3_000
/** A request without a byte for this long has failed. */
const idleMs = 10_000
/** Held in memory; at most 10,000 of them make a file (156 GiB). */
const partBytes = 16 * 1024 ** 2
const abandonedAfterMs = 86_400_000

/** Files in an S3-compatible bucket. Credentials come from the usual AWS variables. */
export class BucketFiles implements Files {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #prefix: string

  constructor({ bucket, prefix, endpoint, region }: BucketAddress, socketTimeout = idleMs) {
    // The library is bundled, so that its plans for versions of Node do not concern operators.
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
    this.#bucket = bucket
    this.#prefix = prefix
    const regionOfServer = region ?? (endpoint ? 'us-east-1' : undefined)
    this.#client = new S3Client({
      ...(regionOfServer ? { region: regionOfServer } : {}),
      // Names of buckets are in the path: an own server has no wildcard name.
      ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
      maxAttempts: 2,
      // Other servers than AWS refuse checksums in trailers. Lengths, and the hashes of backups, reveal cut-off content.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: connectWithinMs, socketTimeout },
    })
  }

  /** One object, or parts that only their completion turns into an object. */
  async put(key: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    let cause: { error: unknown } | null = null
    async function* watched() {
      try {
        yield* body
      } catch (error) {
        cause = { error }
        throw error
      }
    }
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#named(key), Body: Readable.from(watched(), { objectMode: false }) },
      partSize: partBytes,
      queueSize: 2,
    })
    await upload.done().catch((error) => {
      throw cause ? (cause as { error: unknown }).error : away(error)
    })
  }

  async localCopy(key: string, dir: string): Promise<string | null> {
    const found = await this.#get(key)
    if (!found) return null
    const file = path.join(dir, `${randomBytes(6).toString('hex')}-${path.posix.basename(key)}`)
    const target = createWriteStream(file, { mode: 0o600, flags: 'wx' })
    try {
      await pipeline(found.Body as Readable, target)
      if (found.ContentLength !== undefined && target.bytesWritten !== found.ContentLength)
        throw new Error(`${target.bytesWritten} of ${found.ContentLength} bytes arrived`)
      return file
    } catch (error) {
      await rm(file, { force: true })
      throw target.errored && target.errored === error && isOfDisk(error) ? error : away(error)
    }
  }

  async text(key: string): Promise<string | null> {
    const found = await this.#get(key)
    return found?.Body ? found.Body.transformToString().catch((error) => Promise.reject(away(error))) : null
  }

  async remove(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(this.#named(key))).catch((error) => {
      throw away(error)
    })
  }

  async list(folder: string): Promise<StoredFile[]> {
    const found: StoredFile[] = []
    try {
      for await (const page of paginateListObjectsV2({ client: this.#client }, this.#below(folder))) {
        for (const { Key = '', LastModified, Size = 0 } of page.Contents ?? [])
          found.push({
            key: Key.slice(this.#prefix.length),
            modifiedMs: LastModified?.getTime() ?? 0,
            sizeBytes: Size,
          })
      }
    } catch (error) {
      throw away(error)
    }
    return found
  }

  /** Parts of a writer that was killed; they cost space until they are aborted. */
  async tidy(folder: string): Promise<void> {
    const found = await this.#client
      .send(new ListMultipartUploadsCommand(this.#below(folder)))
      .catch((error) => {
        throw away(error)
      })
    for (const { Key, UploadId, Initiated } of found.Uploads ?? []) {
      if (!Key || !UploadId || !Initiated || Date.now() - Initiated.getTime() < abandonedAfterMs) continue
      const abort = new AbortMultipartUploadCommand({ Bucket: this.#bucket, Key, UploadId })
      await this.#client.send(abort).catch((error) => {
        throw away(error)
      })
    }
  }

  async #get(key: string): Promise<GetObjectCommandOutput | null> {
    return this.#client.send(new GetObjectCommand(this.#named(key))).catch((error) => {
      if (nameOf(error) === 'NoSuchKey') return null
      throw away(error)
    })
  }

  #named(key: string) {
    return { Bucket: this.#bucket, Key: this.#prefix + key }
  }

  #below(folder: string) {
    return { Bucket: this.#bucket, Prefix: `${this.#prefix}${folder}/` }
  }
}

function nameOf(error: unknown): string {
  const { name, code } = error as Error & { code?: unknown }
  return typeof code === 'string' ? code : (name ?? 'Error')
}

function isOfDisk(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EACCES'].includes(nameOf(error))
}

/** The remedy names the setting, never the bucket or its address: tenants read it too. */
function away(error: unknown): AppError {
  const name = nameOf(error)
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
  const refused = status === 401 || status === 403 || name === 'CredentialsProviderError'
  const remedy = refused
    ? 'An operator must check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the permissions of that key: it lists, reads, writes and deletes objects.'
    : status !== undefined && status < 500
      ? 'An operator must check the bucket, the endpoint and the region in LONGSHORE_FILES_URL.'
      : 'It is used again as soon as it answers. An operator must check the server that LONGSHORE_FILES_URL names.'
  return new AppError('unavailable', `The file storage ${refused ? 'refuses access' : 'does not answer'}`, {
    details: `${name}: ${remedy}`,
    retryAfterSeconds: 10,
    cause: error,
  })
}
