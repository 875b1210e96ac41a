package io.kvasir;

import io.kvasir.app.Main;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The compiled classes of src/main, as files and loaded: where no dependencies matter, without ArchUnit's import. */
public final class MainClasses {
  private MainClasses() {}

  /** The files of a package and those below it. */
  public static List<ClassModel> files(String inPackage) {
    Path classes = Path.of(URI.create(Main.class.getProtectionDomain().getCodeSource().getLocation().toString()));
    try (Stream<Path> files = Files.walk(classes.resolve(inPackage.replace('.', '/')))) {
      return files.filter(file -> file.toString().endsWith(".class")).map(MainClasses::parse).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The classes of a package and those below it, not initialised. */
  public static Stream<Class<?>> loaded(String inPackage) {
    return files(inPackage).stream().<Class<?>>map(MainClasses::load);
  }

  private static ClassModel parse(Path file) {
    try {
      return ClassFile.of().parse(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Class<?> load(ClassModel file) {
    String name = file.thisClass().asInternalName().replace('/', '.');
    try {
      return Class.forName(name, false, MainClasses.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new AssertionError(name, e);
    }
  }
}
