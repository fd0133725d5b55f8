import { expect, it } from 'vitest'
import { dockerodeOptions, findDockerEndpoint } from '../../src/docker-endpoint.ts'

it('a container engine is looked for where engines usually listen', () => {
  const at = (env: Record<string, string>, ...sockets: string[]) =>
    findDockerEndpoint(undefined, { env, homeDir: '/home/a', exists: (file) => sockets.includes(file) })
  expect(at({}, '/home/a/.docker/run/docker.sock')).toMatchObject({
    path: '/home/a/.docker/run/docker.sock',
  })
  expect(at({ XDG_RUNTIME_DIR: '/run/u' }, '/run/u/podman/podman.sock')).toMatchObject({
    path: '/run/u/podman/podman.sock',
  })
  expect(at({})).toMatchObject({ path: '/var/run/docker.sock' })
  expect(at({ DOCKER_HOST: 'tcp://[::1]:2375' })).toEqual({ kind: 'tcp', host: '::1', port: 2375 })
  expect(at({ DOCKER_HOST: 'unix:///x.sock' }, '/var/run/docker.sock')).toEqual({
    kind: 'unix',
    path: '/x.sock',
  })
})

it('its client connects to the same socket, or to the same port without TLS', () => {
  const options = (dockerHost: string) => dockerodeOptions(findDockerEndpoint(dockerHost))
  expect(options('unix:///x.sock')).toEqual({ socketPath: '/x.sock' })
  expect(options('tcp://127.0.0.1:2375')).toEqual({ host: '127.0.0.1', port: 2375, protocol: 'http' })
})
