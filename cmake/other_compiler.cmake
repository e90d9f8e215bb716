# Objects of this tree's sources by another compiler than the build's own: clang for WebAssembly,
# and for libFuzzer and its sanitisers.

# helx_other_objects(RESULT FOLDER COMPILER "FLAG;FLAG" SOURCES...): sets RESULT to the objects,
# which are built in FOLDER when a target depends on them.
function(helx_other_objects result folder compiler flags)
  set(objects)
  foreach(source ${ARGN})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    set(object ${folder}/${name}.o)
    get_filename_component(parent ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${compiler} ${flags} -I${PROJECT_SOURCE_DIR}
              -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
