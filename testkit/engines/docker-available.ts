import { dockerSocketAnswers } from '../../src/engines/docker/socket.ts'

/** Whether Docker answers; with more patience than the platform has, so that a busy machine leaves out no test. */
export const dockerAvailable: boolean = await dockerSocketAnswers(undefined, 10_000)
