/**
 * A line that repeats a command: a step of a builder, a line of a Dockerfile, a line that BuildKit points at, `sh -x`, and
 * scripts of npm, pnpm and yarn.
 */
const isEcho =
  /^(?:Step (?:\S+ )?\d+\/\d+ : |\[\d+\/\d+\] |#\d+ (?:\[|DONE|CACHED)|\s*=> | ?> \[|\s*\d+ \|(?: |$)|[>$] |\++ |npm (?:err!|error) command )/i

/** The Dockerfile that the platform generates is in the log, too. */
const isInstruction =
  /^(?:ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|LABEL|ONBUILD|RUN|SHELL|STOPSIGNAL|USER|VOLUME|WORKDIR) (?!failed: )/

/** Commands that a sentence about their failure quotes. */
const quoted =
  /The command '.*'(?= returned a non-zero code)|process ".*"(?= did not complete successfully)|executor failed running \[.*\](?=:)|Step (?:\S+ )?\d+\/\d+ ".*"(?= failed)|Dockerfile line \d+: RUN .* (?=failed with exit code|did not end)/i

/** A line without the commands that it repeats: they name options and files, and report no error. */
export function withoutCommands(line: string): string {
  // BuildKit prints the time before the output of a step.
  const plain = line.replace(/^#\d+ \d+\.\d+ /, '')
  return isEcho.test(plain) || isInstruction.test(plain) ? '' : plain.replace(quoted, '')
}
