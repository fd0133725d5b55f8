import { createHash } from 'node:crypto'
import { cluster } from './cluster.ts'

interface Manifest {
  config: { digest: string; size: number }
}

/**
 * Pushes `busybox:1` of the tests' registry with a shell script as its entry point and returns the reference of the
 * image. `user`: the number of a user other than root.
 */
export async function shellImage(name: string, script: string, user = ''): Promise<string> {
  const api = `http://${cluster.registry}/v2`
  const manifestType = 'application/vnd.oci.image.manifest.v1+json'
  const from = await answer(`${api}/busybox/manifests/1`, { headers: { accept: manifestType } })
  const manifest = (await from.json()) as Manifest
  const read = await answer(`${api}/busybox/blobs/${manifest.config.digest}`)
  const image = (await read.json()) as { config: object }
  image.config = { ...image.config, Entrypoint: ['/bin/sh', '-c', script], Cmd: null, User: user }
  const config = JSON.stringify(image)
  const digest = `sha256:${createHash('sha256').update(config).digest('hex')}`
  const { location } = Object.fromEntries(
    (await answer(`${api}/busybox/blobs/uploads/`, { method: 'POST' })).headers,
  )
  const upload = new URL(location ?? '', api)
  upload.searchParams.set('digest', digest)
  await answer(upload, { method: 'PUT', body: config })
  const body = JSON.stringify({ ...manifest, config: { ...manifest.config, digest, size: config.length } })
  const headers = { 'content-type': manifestType }
  await answer(`${api}/busybox/manifests/${name}`, { method: 'PUT', headers, body })
  return `${cluster.registry}/busybox:${name}`
}

async function answer(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${init?.method ?? 'GET'} ${url}: ${response.status}`)
  return response
}

/** Serves a page with the variable COLOR on PORT, says so, and ends on SIGTERM. */
export const webScript =
  'trap "exit 0" TERM; mkdir -p /tmp/www; echo "$COLOR" > /tmp/www/index.html; echo "listening on $PORT"; httpd -f -p "$PORT" -h /tmp/www & wait'
