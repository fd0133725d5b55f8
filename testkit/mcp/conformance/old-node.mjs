// Loaded before the conformance suite (node --import). It imports globSync of node:fs, which Node 20 lacks, for a
// command that is not run here; everything it does run works with Node 20.
import { register } from 'node:module'

const fs =
  'data:text/javascript,export * from "node:fs"; export { default } from "node:fs"; export const globSync = undefined'
const hooks = `export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
    ? { url: ${JSON.stringify(fs)}, shortCircuit: true }
    : next(specifier, context)`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
