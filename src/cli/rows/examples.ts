import type { CliCommand } from '../command.ts'

const app = 'app_4k2m6q8s0u3w5y7a9c1e'
const alert = 'alr_4k2m6q8s0u3w5y7a9c1e'
const point = 'cp_4k2m6q8s0u3w5y7a9c1e'
const run = 'run_4k2m6q8s0u3w5y7a9c1e'
const backup = 'bak_4k2m6q8s0u3w5y7a9c1e'
const member = 'mem_4k2m6q8s0u3w5y7a9c1e'
const invitation = 'inv_4k2m6q8s0u3w5y7a9c1e'
const approval = 'apv_4k2m6q8s0u3w5y7a9c1e'

/** The arguments after each command in the example of its help. */
const words: Readonly<Record<string, string>> = {
  mcp: '--read-only',
  'mcp doctor': '--host cursor',
  'mcp install': '--host cursor --read-only',
  deploy: 'hello-prod --dir examples/hello-function',
  create: 'hello --docker-preset FUNCTION --port 8080',
  status: 'hello-prod',
  why: 'hello-prod',
  logs: 'hello-prod --follow',
  probe: 'hello-prod',
  console: '--print',
  'regions check': 'local',
  'envs status': 'hello-prod',
  'envs logs': 'hello-prod --search error',
  'envs create': `${app} --name staging --region local`,
  'envs get': 'hello-prod',
  'envs update': 'hello-prod --z-clouds 2',
  'envs delete': 'hello-prod --dry-run',
  'envs pods': 'hello-prod',
  'envs history': 'hello-prod --limit 10',
  'envs metrics': 'hello-prod',
  'envs container-series': 'hello-prod',
  'envs metrics-series': 'hello-prod --metric ingress_request_rate',
  'envs usage': 'hello-prod',
  'envs request-secret': 'hello-prod --variable STRIPE_KEY',
  'envs request-storage-key': 'hello-prod --file-extension .tgz',
  'envs notify-upload': 'hello-prod --storage-key KEY',
  'envs deploy-image': 'hello-prod --image registry.example.com/hello:2',
  'envs redeploy': 'hello-prod',
  'envs compare-versions': 'hello-prod --from 1 --to 2',
  'envs apply': 'hello-prod',
  'envs discard-changes': 'hello-prod',
  'approvals propose':
    '--title Restart --steps \'{"operation":"restart-app-env","input":{"envName":"hello-prod"}}\'',
  'approvals show': approval,
  'approvals approve': `${approval} --comment reviewed`,
  'approvals deny': `${approval} --comment later`,
  'approvals decide': `${approval} --review-digest DIGEST --decision approve`,
  'policy explain': '--operation restart-app-env --input \'{"envName":"hello-prod"}\'',
  'policy replay': '--policy \'{"rules":[]}\'',
  'policy update': '--policy \'{"rules":[]}\'',
  'policy set': 'careful',
  'policy test': 'examples/policy.yaml',
  'domains add': 'shop-prod --domain shop.example.com',
  'domains list': 'shop-prod',
  'domains verify': 'shop-prod --domain shop.example.com',
  'domains remove': 'shop-prod --domain shop.example.com --dry-run',
  'domains upload-certificate': 'shop-prod --domain shop.example.com --chain chain.pem --key key.pem',
  'envs claim': 'hello-prod --intent repair',
  'envs release': 'hello-prod',
  'envs stop': 'hello-prod',
  'envs start': 'hello-prod',
  'envs restart': 'hello-prod',
  'envs variables': 'hello-prod --set API_KEY=s3cret --set-plain COLOR=green --unset OLD',
  'envs function-config': 'hello-prod --container-concurrency 10 --max-scale 5',
  'envs autoscaling': 'shop-prod --enabled --min-containers 1 --max-containers 4',
  'envs scale': 'shop-prod --containers 3',
  'envs rotate-token': 'hello-prod',
  'envs explain-access': 'hello-prod',
  'envs changes': 'hello-prod',
  'apps create': '--name shop --docker-preset NODE_JS --port 3000',
  'apps get': app,
  'apps update': `${app} --docker-preset EXPRESS`,
  'apps delete': `${app} --dry-run`,
  'jobs run': 'report-prod -- node report.js --month 2026-05',
  'jobs list': 'report-prod',
  'jobs get': run,
  'jobs settings': 'report-prod',
  'jobs logs': `${run} --follow`,
  'jobs cancel': run,
  'jobs configure': 'report-prod --timeout-seconds 600',
  'alerts list': '--firing',
  'alerts get': alert,
  'alerts create': 'shop-prod --metric cpu_percent --threshold 90 --duration 5m',
  'alerts preview': 'shop-prod --metric cpu_percent --threshold 90',
  'alerts pause': alert,
  'alerts resume': alert,
  'alerts delete': `${alert} --dry-run`,
  'alerts refresh': alert,
  'alerts update': `${alert} --threshold 95`,
  'alerts toggle': `${alert} --no-enabled`,
  'contact-points test': point,
  'contact-points get': point,
  'contact-points create': '--type webhook --name ops --config @config.json',
  'contact-points update': `${point} --name on-call`,
  'contact-points delete': `${point} --dry-run`,
  'invitations accept': invitation,
  'invitations decline': invitation,
  'members add': '--email ann@example.com --name Ann',
  'members remove': `${member} --dry-run`,
  'members access': member,
  'members set-access': `${member} --full-access`,
  'backup create': 'db-prod',
  'database-passwords rotate': 'db-prod',
  'backup list': 'db-prod',
  'backup get': backup,
  'backup delete': `${backup} --dry-run`,
  restore: `${backup} --new-env restored`,
  'token create': '--name reader --read-only',
  'token revoke': 'tok_4k2m6q8s0u3w5y7a9c1e',
  'store copy': '--from .longshore',
  'audit list': '--limit 20',
  'audit undo': 'aud_4k2m6q8s0u3w5y7a9c1e',
  'accounts create': '--name shop',
  'accounts update': '--function-max-scale 20',
}

/** Adds an example to the help of every command that does something; without words of its own, from its arguments. */
export function addExamples(command: CliCommand, path = ''): void {
  if (command.commands.length === 0 || words[path] !== undefined) {
    const given = command.registeredArguments.filter(({ required }) => required)
    const example = words[path] ?? given.map((argument) => argument.name().toUpperCase()).join(' ')
    command.addHelpText('after', `\nExample: longshore ${path} ${example}`.trimEnd())
  }
  for (const one of command.commands) addExamples(one as CliCommand, `${path} ${one.name()}`.trim())
}
