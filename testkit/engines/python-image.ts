import { execFileSync } from 'node:child_process'
import { readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type Docker from 'dockerode'
import { contentTag, importImage, programFiles, testDocker, withLibraries } from './docker-images.ts'

/** Increase this whenever the recipe below changes. */
const recipe = 1
const repo = 'longshore-test-python'
const leftOut =
  /(?:^|\/)(?:site-packages|dist-packages|__pycache__|test|tests|idlelib|tkinter|config-[^/]*)(?:\/|$)/

/** A base image of this machine's Python and its library, without any registry. Returns the image name. */
export async function ensurePythonImage(docker: Docker = testDocker()): Promise<string> {
  const files = pythonFiles()
  const tag = contentTag(files, String(recipe))
  const found = await docker.listImages({ filters: { reference: [`${repo}:${tag}`] } })
  if (found.length === 0) await importImage(docker, repo, tag, files, ['CMD ["python3"]'])
  return `${repo}:${tag}`
}

/** Python finds its library by the place of its program: bin/python3 beside lib/python3.11. */
function pythonFiles(): Map<string, string> {
  const asked = 'import sys, sysconfig; print(sys.executable); print(sysconfig.get_path("stdlib"))'
  const said = execFileSync('python3', ['-c', asked], { encoding: 'utf8' }).trim().split('\n')
  const [program, library] = said.map((one) => realpathSync(one)) as [string, string]
  const programs = new Map([['usr/local/bin/python3', program], ...programFiles([])])
  const modules = readdirSync(library, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:py|so)$/.test(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !leftOut.test(path.relative(library, file)))
  const into = `usr/local/lib/${path.basename(library)}`
  const place = (file: string): [string, string] => [`${into}/${path.relative(library, file)}`, file]
  const compiled = withLibraries(new Map([...programs, ...modules.filter(isCompiled).map(place)]))
  return new Map([...compiled, ...modules.map(place)])
}

function isCompiled(file: string): boolean {
  return file.endsWith('.so')
}
