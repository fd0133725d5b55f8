import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { findProgram, hostPath } from '../../../../src/engines/process/host-runtimes.ts'
import { commandOf, processIds } from '../../../../src/engines/process/supervisor/proc-tree.ts'
import { lines, ProcessFixture } from '../../../../testkit/engines/process-fixture.ts'
import { messagesOf } from '../../../../testkit/engines/process-installation.ts'

const fixture = new ProcessFixture('file')
const isRoot = process.getuid?.() === 0

/** Every name below the folders with what changes when anything of it does. */
function stateOf(...folders: string[]): Map<string, string> {
  const found = new Map<string, string>()
  const record = (at: string, isDeep: boolean) => {
    const info = lstatSync(at, { throwIfNoEntry: false })
    if (!info) return
    const { ino, mode, uid, gid, size, ctimeMs } = info
    found.set(at, `${ino} ${mode} ${uid} ${gid} ${info.isDirectory() ? '' : `${size} ${ctimeMs}`}`)
    if (!isDeep || !info.isDirectory()) return
    for (const name of readdirOrEmpty(at)) record(path.join(at, name), isDeep)
  }
  for (const folder of folders) record(folder, true)
  for (const name of readdirOrEmpty('/')) record(`/${name}`, false)
  for (const name of ['null', 'zero', 'full', 'random', 'urandom']) record(`/dev/${name}`, false)
  return found
}

function readdirOrEmpty(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const machine = ['/etc', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/usr/local/lib']

/** What a hostile program does to the machine around it. */
const attack = (victims: readonly string[]) =>
  lines(
    'set +e',
    `rm -rf /usr/bin/perl /usr/local/bin /etc/passwd /etc/ssl ${victims.join(' ')}`,
    'for at in / /usr /usr/bin /usr/local /usr/local/bin /etc /var /tmp /root /home /srv /opt /dev /proc /sys; do',
    '  echo x > $at/longshore-attack; mkdir -p $at/longshore-attack-folder; chmod 777 $at',
    'done',
    'chmod 000 /dev/null /dev/zero; chown 1:1 /dev/null; touch /dev/null',
    'mount -t tmpfs none /usr; mount --bind /proc/1/root /mnt; umount /usr; umount /proc/sys',
    'unshare --mount --map-root-user --user sh -c "mount -t tmpfs none /usr && rm -rf /usr/bin"',
    'echo 1 > /proc/sys/kernel/panic_on_oops; echo longshore > /proc/sys/kernel/hostname; echo h > /proc/sysrq-trigger',
    'for node in "b 254 0" "b 8 0" "c 1 1" "c 1 2"; do mknod /tmp/disk $node && dd if=/tmp/disk of=/tmp/read count=1; done',
    'rm -rf /proc/1/root/longshore /proc/1/cwd/longshore; kill -9 1',
    'true',
  )

/** What a curious program finds. */
const survey = lines(
  'echo "names $(ls / | tr "\\n" " ")"',
  'echo "users $(ls /root /home | tr "\\n" " ")"',
  'echo "processes $(ls /proc | grep -c "^[0-9]")"',
  'echo "sockets $(find / -xdev -type s 2>/dev/null | wc -l)"',
  'echo "disks $(find / -type b 2>/dev/null | wc -l)"',
  'echo "environ $(cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n" | grep -c canary)"',
  'echo "mounts $(grep -c " /[^ ]*canary" /proc/self/mountinfo)"',
  'grep -E "^(NoNewPrivs|CapEff)" /proc/self/status | tr "\\t" " "',
  `test -e ${homedir()}/longshore-canary && echo "sees the user folder"`,
  'test -e "$SECRET" && echo "sees the data directory"',
  'find / -xdev -name "admin-token" 2>/dev/null',
  'true',
)

describe('a private root', () => {
  it.skipIf(findProgram('python3', hostPath()) === null)(
    'an image of Python has the name python, and a pip that installs into the image',
    async () => {
      const { log } = await fixture.build(
        lines('FROM python:3.12-slim', 'RUN python --version && test "$PIP_BREAK_SYSTEM_PACKAGES" = 1'),
      )
      expect(log).toContainEqual(expect.stringMatching(/^Python 3/))
    },
  )

  it('is what this machine offers, which the engine says', async () => {
    expect(await fixture.engine.isolationProblem?.()).toBeNull()
    expect(fixture.engine.isolation?.().reason).toMatch(/own files and processes, but they share the network/)
  })

  it('leaves the machine as it was, whatever a build and a container do', async () => {
    const victims = isRoot ? [`/usr/local/bin/longshore-victim-${process.pid}`] : []
    for (const victim of victims) writeFileSync(victim, '#!/bin/sh\necho alive\n', { mode: 0o755 })
    const secret = path.join(fixture.installation.home, 'admin-token')
    writeFileSync(secret, 'token')
    try {
      const before = stateOf(...machine, secret, ...victims)
      const files = { 'attack.sh': attack([...victims, secret, fixture.installation.home]) }
      const dockerfile = lines(
        'FROM alpine',
        'COPY attack.sh /',
        'RUN sh /attack.sh || true',
        'CMD ["sh", "/attack.sh"]',
      )
      const { image } = await fixture.build(dockerfile, files)
      const runs = await fixture.build(
        lines('FROM alpine', 'COPY attack.sh /', 'CMD ["sh", "/attack.sh"]'),
        files,
      )
      await fixture.run(runs.image)
      await fixture.engine.removeImage(image)
      expect(stateOf(...machine, secret, ...victims)).toEqual(before)
      expect(existsSync('/tmp/longshore-attack')).toBe(false)
      expect(readFileSync('/proc/sys/kernel/hostname', 'utf8').trim()).not.toBe('longshore')
    } finally {
      for (const victim of victims) rmSync(victim)
    }
  })

  it('shows neither data directory nor user folders, other processes, sockets and disks', async () => {
    const { home } = fixture.installation
    const secret = path.join(home, 'admin-token')
    writeFileSync(secret, 'token')
    const canary = path.join(homedir(), 'longshore-canary')
    if (isRoot) writeFileSync(canary, 'x')
    try {
      const { image, log } = await fixture.build(
        lines(
          'FROM alpine',
          'COPY survey.sh /',
          `RUN SECRET=${secret} sh /survey.sh`,
          'CMD ["sh", "/survey.sh"]',
        ),
        { 'survey.sh': survey },
      )
      const other = fixture.installation.spec(image, {
        env: { KEY: 'canary' },
        command: ['sleep', '100'],
        port: null,
      })
      await fixture.engine.apply(other)
      const seen = await fixture.run(image, { SECRET: secret })
      await fixture.engine.remove(other.name)
      for (const found of [seen, log]) {
        const text = found.join('\n')
        expect(text).toMatch(/^users \/home:\s+\/root:\s*$/m)
        expect(text).toMatch(/^processes [1-6]$/m)
        for (const none of ['sockets', 'disks', 'environ', 'mounts'])
          expect(text).toMatch(new RegExp(`^${none} 0$`, 'm'))
        expect(text).not.toMatch(/sees the|admin-token$/m)
        expect(text).toMatch(/^NoNewPrivs: 1$/m)
        expect(text).toMatch(/^CapEff: 00000000800404fb$/m)
      }
      const names = seen
        .find((line) => line.startsWith('names '))!
        .split(' ')
        .filter((name) => readdirSync('/').includes(name))
      const system =
        'bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var'
      expect(names.filter((name) => !system.split(' ').includes(name))).toEqual([])
    } finally {
      rmSync(canary, { force: true })
    }
  })

  it('keeps what a step writes to system folders in the image, and what a container writes in the container', async () => {
    const tool = `longshore-tool-${process.pid}`
    const { image } = await fixture.build(
      lines(
        'FROM alpine AS tools',
        `RUN printf '#!/bin/sh\\necho tool ran\\n' > /usr/local/bin/${tool} && chmod +x /usr/local/bin/${tool}`,
        'FROM tools',
        'RUN rm /usr/bin/perl && echo changed > /etc/motd && mkdir /data && ln -s /data /link && echo x > /tmp/kept',
        `CMD ${tool}; test -e /usr/bin/perl || echo no perl; cat /etc/motd; echo own >> /link/file; cat /data/file /tmp/kept`,
      ),
    )
    const expected = ['tool ran', 'no perl', 'changed', 'own', 'x']
    expect(await fixture.run(image)).toEqual(expected)
    expect(await fixture.run(image)).toEqual(expected)
    expect(existsSync(`/usr/local/bin/${tool}`)).toBe(false)
    expect(existsSync('/usr/bin/perl')).toBe(true)
  })

  it('refuses an image that puts a link in place of a system folder', async () => {
    const dockerfile = lines(
      'FROM alpine AS evil',
      `RUN mkdir /out && ln -s ${tmpdir()} /out/usr`,
      'FROM alpine',
      'COPY --from=evil /out/ /',
      'RUN echo x > /usr/longshore-attack',
      'CMD ["true"]',
    )
    await fixture
      .refused(dockerfile)
      .toMatchObject({ reason: 'build step', message: expect.stringContaining('/usr') })
    expect(existsSync(path.join(tmpdir(), 'longshore-attack'))).toBe(false)
  })

  it('ends with its container a child that leaves session, parent and environment behind', async () => {
    const seconds = String(86_000 + (process.pid % 10_000) / 10_000)
    const runaways = () => processIds().filter((pid) => commandOf(pid).includes(seconds)).length
    const runaway = `env -i setsid sh -c 'exec setsid sleep ${seconds} &'`
    const { image } = await fixture.shell(runaway, 'echo up', 'sleep 600')
    for (const end of ['stop', 'remove'] as const) {
      const spec = fixture.installation.spec(image, { port: null })
      await fixture.engine.apply(spec)
      while (runaways() !== 1) await setTimeout(20)
      if (end === 'stop') await fixture.engine.stop(spec.name, 1)
      await fixture.engine.remove(spec.name)
      expect(runaways()).toBe(0)
    }
  })

  it('leaves no mount, process or file when its environment is removed', async () => {
    const { image } = await fixture.shell('setsid sleep 500 &', 'echo > /etc/x', 'echo up', 'wait')
    const specs = Array.from({ length: 5 }, () => fixture.installation.spec(image, { port: null }))
    for (const spec of specs) await fixture.engine.apply(spec)
    for (const spec of specs) while (!(await messagesOf(fixture.engine, spec.name)).includes('up'));
    await fixture.engine.purge('env_1')
    const { home } = fixture.installation
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(home)
    expect(readdirSync(path.join(home, 'engine/containers'))).toEqual([])
    expect(readdirSync(path.join(home, 'engine/images'))).toEqual([])
    expect(fixture.stepPids()).toEqual([])
    const own = isRoot ? [] : ['folders']
    expect(readdirSync(path.join(home, 'engine/private-root')).sort()).toEqual(
      [...own, 'base', 'mount', 'private-root.pl'].sort(),
    )
  })
})
