# Debian packages: cpack -G DEB --config build/CPackConfig.cmake. One per component, each with what its programs load.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME helx)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The HELX maintainers <helx@invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL client server worker)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_CLIENT_DESCRIPTION
  "HELX: what a model costs and answers on an embedded target, from the command line
 helxctl submits experiments and reads and verifies results; wai-verify is the tool
 of the exact integer operator set.")
set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME helx-client)
set(CPACK_DEBIAN_CLIENT_PACKAGE_RECOMMENDS "helx-server, helx-worker")
set(CPACK_COMPONENT_SERVER_DESCRIPTION
  "HELX daemon: jobs, results and workers of one host or lab
 helxd keeps jobs and content-addressed results and hands the work to helx-worker.")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME helx-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "helx-worker, openssl")
set(CPACK_COMPONENT_WORKER_DESCRIPTION
  "HELX worker: builds and runs images in sandboxed children
 helx-worker leases actions of a helxd, here or elsewhere, and runs each in a fresh
 sandbox: the cross compiler, and the emulated or real device.")
set(CPACK_DEBIAN_WORKER_PACKAGE_NAME helx-worker)
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS
  "bubblewrap, gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm, systemd, passwd")
# systemd-sysusers, and userdel.
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "systemd, passwd")

# The services: maintainer scripts, unit, configuration, user.
# EXCLUDE_FROM_ALL: in packages only. The units name programs in /usr/bin, and `cmake --install` leaves /etc alone.
foreach(triple server:helxd:worker worker:helx-worker:server)
  string(REPLACE ":" ";" triple ${triple})
  list(GET triple 0 component)
  list(GET triple 1 unit)
  list(GET triple 2 other)
  set(control ${CMAKE_CURRENT_BINARY_DIR}/debian/${component})
  foreach(script postinst prerm postrm)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/${script} ${control}/${script} @ONLY)
  endforeach()
  file(WRITE ${control}/conffiles "/etc/helx/${unit}.env\n")
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    ${control}/conffiles ${control}/postinst ${control}/prerm ${control}/postrm)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/systemd/${unit}.service
    DESTINATION lib/systemd/system COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/systemd/${unit}.env
    DESTINATION /etc/helx COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/systemd/helx.sysusers
    DESTINATION lib/sysusers.d RENAME helx-${component}.conf COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
foreach(component client server worker)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
    DESTINATION share/doc/helx-${component} RENAME copyright COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/docs/cli.md ${PROJECT_SOURCE_DIR}/docs/operators-guide.md
    ${PROJECT_SOURCE_DIR}/docs/troubleshooting.md
    DESTINATION share/doc/helx-${component} COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
install(PROGRAMS ${CMAKE_CURRENT_LIST_DIR}/certificates
  DESTINATION share/helx-server COMPONENT server EXCLUDE_FROM_ALL)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/grafana ${CMAKE_CURRENT_LIST_DIR}/prometheus
  DESTINATION share/doc/helx-server/examples COMPONENT server EXCLUDE_FROM_ALL)
install(DIRECTORY ${CMAKE_CURRENT_LIST_DIR}/ci
  DESTINATION share/doc/helx-client/examples COMPONENT client EXCLUDE_FROM_ALL)
include(CPack)
