/**
 * Loaded with the first request, because the library takes a tenth of the start-up time. It has no ES module, so the
 * bundler gives its names only to modules that import it like this one.
 */
export { Agent, buildConnector, request } from 'undici'
