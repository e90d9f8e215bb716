# cmake -DOUTPUT=... -DVERSION=... -DROOT=<worker folder> "-DEMBEDDED=kernels/a.c;..." "-DHASHED=engine/x.cc;..." -P embed_sources.cmake
# Writes the definitions behind embedded_sources.h. Runs whenever one of the files changes.
list(SORT EMBEDDED)
list(SORT HASHED)
set(text "#include \"worker/engine/embedded_sources.h\"\n\nnamespace helx::engine {\nnamespace {\n\n")
string(APPEND text "constexpr EmbeddedSource kSources[] = {\n")
set(hashes "")
foreach(path ${EMBEDDED})
  file(READ ${ROOT}/${path} content)
  string(APPEND text "  {\"${path}\", R\"helx(${content})helx\"},\n")
  file(SHA256 ${ROOT}/${path} hash)
  string(APPEND hashes "${path} ${hash}\n")
endforeach()
foreach(path ${HASHED})
  file(SHA256 ${ROOT}/${path} hash)
  string(APPEND hashes "${path} ${hash}\n")
endforeach()
string(SHA256 total "${hashes}")
string(APPEND text "};\n\n}  // namespace\n\n"
  "std::span<const EmbeddedSource> EmbeddedSources() { return kSources; }\n"
  "std::string_view SourcesHash() { return \"${total}\"; }\n"
  "constexpr std::string_view kEngineVersion = \"${VERSION}\";\n\n}  // namespace helx::engine\n")
file(WRITE ${OUTPUT} "${text}")
