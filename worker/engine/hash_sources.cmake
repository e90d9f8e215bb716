# cmake -DOUTPUT=... -DVERSION=... -DROOT=<worker folder> "-DKERNELS=kernels/a.c;..." "-DGENERATOR=engine/x.cc;..." -P hash_sources.cmake
# Writes the definitions behind sources_hash.h. Runs whenever one of the files changes.
function(helx_hash result)
  set(lines "")
  set(paths ${ARGN})
  list(SORT paths)
  foreach(path ${paths})
    file(SHA256 ${ROOT}/${path} hash)
    get_filename_component(name ${path} NAME)
    string(APPEND lines "${name} ${hash}\n")
  endforeach()
  string(SHA256 total "${lines}")
  set(${result} ${total} PARENT_SCOPE)
endfunction()

helx_hash(kernels ${KERNELS})
helx_hash(generator ${GENERATOR})
file(WRITE ${OUTPUT} "#include \"worker/engine/sources_hash.h\"

namespace helx::engine {

const std::string_view kProjectVersion = \"${VERSION}\";
const std::string_view kKernelsHash = \"${kernels}\";
const std::string_view kGeneratorHash = \"${generator}\";

}  // namespace helx::engine
")
