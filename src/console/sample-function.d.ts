/** Files of `examples/hello-function` by name; `build-console.mjs` puts them into the bundle. */
declare module 'sample-function' {
  const files: Record<string, string>
  export default files
}
