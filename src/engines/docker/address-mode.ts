/**
 * How a container's port is reached. `container ip`: directly, which only works on the kernel that runs the
 * container. `published port`: through a random port of 127.0.0.1, for engines inside a virtual machine.
 */
export type AddressMode = 'container ip' | 'published port'

/** Decides how to connect to containers, from the engine's own information. */
export function addressModeFor(seen: {
  platform: string
  kernel: string
  socket: 'unix' | 'tcp'
  engineKernel: string
  engineSystem: string
  securityOptions: readonly string[]
}): AddressMode {
  const sameKernel = seen.platform === 'linux' && seen.socket === 'unix' && seen.engineKernel === seen.kernel
  // A rootless engine keeps its bridges in a separate network namespace, which is unreachable from here.
  const rootless = seen.securityOptions.some((option) => option.includes('rootless'))
  return sameKernel && !rootless && !/docker desktop/i.test(seen.engineSystem)
    ? 'container ip'
    : 'published port'
}
