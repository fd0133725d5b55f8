import type Docker from 'dockerode'
import { instructionsOf } from '../dockerfile/readings.ts'
import { requestInTime } from './client.ts'

/**
 * The values of the platform arguments that a Dockerfile declares with ARG, such as TARGETARCH. BuildKit knows them by
 * itself; the classic builder does not, and warns about those that no instruction declares.
 */
export async function platformArgs(docker: Docker, dockerfile: string): Promise<Record<string, string>> {
  const declared = instructionsOf(dockerfile).flatMap((text) => {
    const [keyword = '', ...words] = text.split(/\s+/)
    return keyword.toUpperCase() === 'ARG' ? words.map((word) => word.split('=', 1)[0]!) : []
  })
  if (!declared.some((name) => /^(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)$/.test(name))) return {}
  const { Os, Arch } = await requestInTime(() => docker.version())
  const [arch, variant] = Arch === 'arm' ? ['arm', 'v7'] : [Arch, '']
  const values = {
    PLATFORM: [Os, arch, ...(variant === '' ? [] : [variant])].join('/'),
    ...{ OS: Os, ARCH: arch, VARIANT: variant },
  }
  const all = Object.entries(values).flatMap(([name, value]) => [
    [`TARGET${name}`, value],
    [`BUILD${name}`, value],
  ])
  return Object.fromEntries(all.filter(([name]) => declared.includes(name!)))
}
