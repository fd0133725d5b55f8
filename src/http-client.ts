/**
 * What parts load when they first send a request: the library costs a tenth of a start. It has no ES module, so the
 * bundler gives its names only to modules that import it like this one.
 */
export { Agent, buildConnector, request } from 'undici'
