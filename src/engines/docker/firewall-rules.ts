import { metadataRanges } from '../../domain/environments/metadata-ranges.ts'

/**
 * The chains that the kernel checks for packets to other machines and containers, and to this one. Both forward chains
 * are needed: Docker removes its jump to DOCKER-USER for milliseconds whenever it creates a network, and puts its own
 * rules first when it starts.
 */
const parents = { forward: ['DOCKER-USER', 'FORWARD'], input: ['INPUT'] } as const

interface FirewallState {
  /** Distinguishes the chains of installations on one machine: 8 hex digits. */
  id: string
  /** Bridge interfaces of the account networks; if empty, all of our rules are removed. */
  bridges: readonly string[]
  /** IPv4 name servers that containers may use, even in a blocked range or on this machine. */
  nameservers: readonly string[]
  /** TCP ports of this machine that stay open: the platform's own. */
  openPorts: readonly number[]
}

/**
 * Input for `iptables-restore --noflush` that leads to the desired rules, given the output of `iptables -S`. It is
 * one transaction, so the rules are never absent. Changes only the chains named after `id` and the jumps to them.
 */
export function firewallScript(desiredState: FirewallState, current: string): string {
  const chains = { forward: `LONGSHORE-${desiredState.id}-F`, input: `LONGSHORE-${desiredState.id}-I` }
  const lines: string[] = []
  for (const way of ['forward', 'input'] as const) {
    const chain = chains[way]
    const known = desiredState.bridges.length > 0 || current.includes(`-N ${chain}\n`)
    if (!known) continue
    // Declaring a chain empties it.
    lines.push(`:${chain} - [0:0]`)
    for (const parent of parents[way]) lines.push(...jumps(parent, chain, desiredState, current))
    if (desiredState.bridges.length === 0) lines.push(`-X ${chain}`)
    else lines.push(...rulesOf(way, desiredState).map((rule) => `-A ${chain} ${rule}`))
  }
  return lines.length === 0 ? '' : ['*filter', ...lines, 'COMMIT', ''].join('\n')
}

/** The changes that leave one jump to the chain for each bridge, before the rule that accepts the bridge's traffic. */
function jumps(parent: string, chain: string, { bridges }: FirewallState, current: string): string[] {
  const rules = current.split('\n').map((line) => line.slice('-A '.length))
  const isAccepting = (rule: string, bridge: string) =>
    rule.startsWith(`${parent} -i ${bridge} `) && rule.endsWith(' -j ACCEPT')
  const isInEffect = (jump: string, bridge: string) => {
    const at = rules.indexOf(jump)
    return at >= 0 && !rules.slice(0, at).some((rule) => isAccepting(rule, bridge))
  }
  const present = rules.filter((rule) => rule.startsWith(`${parent} `) && rule.endsWith(` -j ${chain}`))
  const all = bridges.map((bridge) => ({ bridge, jump: `${parent} -i ${bridge} -j ${chain}` }))
  const kept = all.filter(({ bridge, jump }) => isInEffect(jump, bridge)).map(({ jump }) => jump)
  const extra = present.filter((rule, at) => !kept.includes(rule) || present.indexOf(rule) !== at)
  const missing = all.map(({ jump }) => jump).filter((jump) => !kept.includes(jump))
  return [...extra.map((rule) => `-D ${rule}`), ...missing.map(inserted)]
}

/** Inserts at the top of the chain, before the accept rules of Docker and others. */
function inserted(rule: string): string {
  const [parent = '', ...rest] = rule.split(' ')
  return `-I ${parent} 1 ${rest.join(' ')}`
}

function rulesOf(way: keyof typeof parents, { bridges, nameservers, openPorts }: FirewallState): string[] {
  const dns = nameservers.flatMap((address) =>
    ['udp', 'tcp'].map((protocol) => `-d ${address}/32 -p ${protocol} -m ${protocol} --dport 53 -j RETURN`),
  )
  // IPv6 addresses of metadata (fd00:ec2::254) are unreachable: account networks have no IPv6.
  if (way === 'forward') {
    const metadata = metadataRanges.map((range) => `-d ${range} -j REJECT`)
    // Docker keeps networks apart too, but not while it creates one.
    return [...dns, ...metadata, ...bridges.map((bridge) => `! -i ${bridge} -o ${bridge} -j DROP`)]
  }
  return [
    // Connections that the gateway opened to a container, and their responses.
    '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN',
    ...dns,
    ...openPorts.map((port) => `-p tcp -m tcp --dport ${port} -j RETURN`),
    '-j REJECT',
  ]
}

/** The IPv4 addresses in the text of a resolv.conf. */
export function nameserversIn(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^\s*nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)].map((match) => match[1]!)
}
