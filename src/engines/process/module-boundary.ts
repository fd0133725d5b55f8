import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Node looks for modules in the node_modules of every parent folder. Where the data directory lies in somebody's
 * project, an app would find modules there that its image lacks, and fail only elsewhere. This file ends the search at
 * its own folder, for `require` and `import`. Code outside the folder, such as npm's own, resolves as always.
 */
const script = `'use strict'
const Module = require('node:module')
const path = require('node:path')
const { fileURLToPath, pathToFileURL } = require('node:url')

const root = __dirname + path.sep
const isInside = (file) => (file + path.sep).startsWith(root)
const isFile = (url) => typeof url === 'string' && url.startsWith('file:')

exports.resolve = function resolve(specifier, context, next) {
  const check = (found) => {
    const isBare = !/^(?:\\.{0,2}\\/|[a-z][a-z+.-]*:)/i.test(specifier)
    if (!isBare || !isFile(context.parentURL) || !isFile(found.url)) return found
    const from = fileURLToPath(context.parentURL)
    if (!isInside(from) || isInside(fileURLToPath(found.url))) return found
    const error = new Error("Cannot find package '" + specifier + "' imported from " + from)
    throw Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' })
  }
  const found = next(specifier, context)
  return typeof found.then === 'function' ? found.then(check) : check(found)
}

// Node loads this file once more, without a parent, where it runs hooks in a thread.
if (module.parent) {
  const pathsOf = Module._nodeModulePaths
  Module._nodeModulePaths = (from) => (isInside(from) ? pathsOf(from).filter(isInside) : pathsOf(from))
  if (Module.registerHooks) Module.registerHooks({ resolve: exports.resolve })
  else if (Module.register) Module.register(pathToFileURL(__filename))
}
`

export function writeModuleBoundary(file: string): void {
  writeFileSync(file, script)
}

/** Variables of a process with the boundary in NODE_OPTIONS, where a folder above it holds modules. */
export function withBoundary(
  env: Record<string, string>,
  { dir, moduleBoundary }: { dir: string; moduleBoundary: string },
): Record<string, string> {
  if (!hasModulesAbove(dir)) return env
  const options = [`--require ${JSON.stringify(moduleBoundary)}`, env.NODE_OPTIONS]
  return { ...env, NODE_OPTIONS: options.filter(Boolean).join(' ') }
}

function hasModulesAbove(folder: string): boolean {
  const above = path.dirname(folder)
  return above !== folder && (existsSync(path.join(above, 'node_modules')) || hasModulesAbove(above))
}
