# Objects of this tree's sources by another compiler than the build's own: clang for WebAssembly,
# and for libFuzzer and its sanitisers.

# helx_other_objects(RESULT FOLDER COMPILER "FLAG;FLAG" SOURCES...): sets RESULT to the objects,
# which are built in FOLDER when a target depends on them.
function(helx_other_objects result folder compiler flags)
  set(objects)
  foreach(source ${ARGN})
    set(root ${PROJECT_SOURCE_DIR})
    if(source MATCHES "^${folder}/")
      set(root ${folder})
    endif()
    file(RELATIVE_PATH name ${root} ${source})
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

# helx_other_batches(RESULT FOLDER BATCH SIZE SOURCES...): sets RESULT to files that include SOURCES,
# SIZE at a time, for helx_other_objects: compilers other than the build's have no build of their own
# to share headers' cost with.
function(helx_other_batches result folder batch size)
  set(files)
  set(sources ${ARGN})
  set(number 0)
  while(sources)
    list(SUBLIST sources 0 ${size} some)
    set(text)
    foreach(source ${some})
      list(REMOVE_ITEM sources ${source})
      string(APPEND text "#include \"${source}\"\n")
    endforeach()
    set(file ${folder}/${batch}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND files ${file})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${result} ${files} PARENT_SCOPE)
endfunction()
