// The one source of the targets that hold precompiled headers (precompiled.cmake).
