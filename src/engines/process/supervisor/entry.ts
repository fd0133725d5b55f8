import { runSupervisor } from './supervisor.ts'

/** The supervisor as a separate program: `--home <dir>`. For tests and benches; users run the `supervise` command. */
const home = process.argv[process.argv.indexOf('--home') + 1]
if (!home || !process.argv.includes('--home')) throw new Error('--home <dir> is missing')
if (!(await runSupervisor({ home }))) process.exit(0)
