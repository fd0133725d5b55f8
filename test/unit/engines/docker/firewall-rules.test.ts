import { expect, it } from 'vitest'
import { firewallScript, nameserversIn } from '../../../../src/engines/docker/firewall-rules.ts'

const empty = '-P INPUT ACCEPT\n-N DOCKER-USER\n-A DOCKER-USER -j RETURN\n'
const desiredState = {
  id: 'ab12cd34',
  bridges: ['br-1'],
  nameservers: ['169.254.169.254'],
  openPorts: [4480],
}

/** What `iptables -S` shows once a script was applied to `empty`. */
const applied = [
  empty.trimEnd(),
  '-N LONGSHORE-ab12cd34-F',
  '-N LONGSHORE-ab12cd34-I',
  '-A INPUT -i br-1 -j LONGSHORE-ab12cd34-I',
  '-A DOCKER-USER -i br-1 -j LONGSHORE-ab12cd34-F',
  '-A FORWARD -i br-1 -j LONGSHORE-ab12cd34-F',
  '-A INPUT -i br-1 -j LONGSHORE-99999999-I',
  '-A INPUT -p tcp -j ACCEPT',
  '',
].join('\n')

it('closes metadata and other accounts on the way out, and everything of the machine, but for answers, DNS and the platform’s ports', () => {
  expect(firewallScript(desiredState, empty).split('\n')).toEqual([
    '*filter',
    ':LONGSHORE-ab12cd34-F - [0:0]',
    '-I DOCKER-USER 1 -i br-1 -j LONGSHORE-ab12cd34-F',
    '-I FORWARD 1 -i br-1 -j LONGSHORE-ab12cd34-F',
    '-A LONGSHORE-ab12cd34-F -d 169.254.169.254/32 -p udp -m udp --dport 53 -j RETURN',
    '-A LONGSHORE-ab12cd34-F -d 169.254.169.254/32 -p tcp -m tcp --dport 53 -j RETURN',
    '-A LONGSHORE-ab12cd34-F -d 169.254.0.0/16 -j REJECT',
    '-A LONGSHORE-ab12cd34-F -d 168.63.129.16/32 -j REJECT',
    '-A LONGSHORE-ab12cd34-F -d 100.100.100.200/32 -j REJECT',
    '-A LONGSHORE-ab12cd34-F ! -i br-1 -o br-1 -j DROP',
    ':LONGSHORE-ab12cd34-I - [0:0]',
    '-I INPUT 1 -i br-1 -j LONGSHORE-ab12cd34-I',
    '-A LONGSHORE-ab12cd34-I -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN',
    '-A LONGSHORE-ab12cd34-I -d 169.254.169.254/32 -p udp -m udp --dport 53 -j RETURN',
    '-A LONGSHORE-ab12cd34-I -d 169.254.169.254/32 -p tcp -m tcp --dport 53 -j RETURN',
    '-A LONGSHORE-ab12cd34-I -p tcp -m tcp --dport 4480 -j RETURN',
    '-A LONGSHORE-ab12cd34-I -j REJECT',
    'COMMIT',
    '',
  ])
})

it('adds no jump twice, and takes away those of bridges that are gone, and doubles', () => {
  expect(firewallScript(desiredState, applied)).not.toMatch(/^-[ID] /m)
  const doubled = `${applied}-A INPUT -i br-1 -j LONGSHORE-ab12cd34-I\n`
  expect(firewallScript(desiredState, doubled).match(/^-[ID] .*/gm)).toEqual([
    '-D INPUT -i br-1 -j LONGSHORE-ab12cd34-I',
  ])
  const moved = firewallScript({ ...desiredState, bridges: ['br-2'] }, applied)
  expect(moved.match(/^-[ID] .*/gm)).toEqual([
    '-D DOCKER-USER -i br-1 -j LONGSHORE-ab12cd34-F',
    '-I DOCKER-USER 1 -i br-2 -j LONGSHORE-ab12cd34-F',
    '-D FORWARD -i br-1 -j LONGSHORE-ab12cd34-F',
    '-I FORWARD 1 -i br-2 -j LONGSHORE-ab12cd34-F',
    '-D INPUT -i br-1 -j LONGSHORE-ab12cd34-I',
    '-I INPUT 1 -i br-2 -j LONGSHORE-ab12cd34-I',
  ])
})

it('puts a jump first again when Docker has put its own rules before it, as it does when it starts', () => {
  const jump = '-A FORWARD -i br-1 -j LONGSHORE-ab12cd34-F'
  const accepting = '-A FORWARD -i br-1 ! -o br-1 -j ACCEPT'
  expect(firewallScript(desiredState, applied.replace(jump, `${jump}\n${accepting}`))).not.toMatch(/^-[ID] /m)
  const sunk = firewallScript(desiredState, applied.replace(jump, `${accepting}\n${jump}`))
  expect(sunk.match(/^-[ID] .*/gm)).toEqual([
    '-D FORWARD -i br-1 -j LONGSHORE-ab12cd34-F',
    '-I FORWARD 1 -i br-1 -j LONGSHORE-ab12cd34-F',
  ])
})

it('takes everything of its own away with the last bridge, and nothing else', () => {
  const script = firewallScript({ ...desiredState, bridges: [] }, applied)
  expect(script).toContain('-X LONGSHORE-ab12cd34-F\n')
  expect(script).toContain('-X LONGSHORE-ab12cd34-I\n')
  expect(script).not.toMatch(/99999999|ACCEPT|-A /)
  expect(firewallScript({ ...desiredState, bridges: [] }, empty)).toBe('')
})

it('reads name servers from a resolv.conf', () => {
  expect(nameserversIn('search x\nnameserver 10.0.0.2\n # nameserver 1.1.1.1\nnameserver fd00::1\n')).toEqual(
    ['10.0.0.2'],
  )
})
