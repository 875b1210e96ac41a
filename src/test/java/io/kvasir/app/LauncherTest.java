package io.kvasir.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.OperatingSystemMXBean;
import io.kvasir.Await;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher, in a directory of its own, with a JDK that prints what it is started with. */
final class LauncherTest {
  private static final Pattern LARGEST = Pattern.compile("(?m)^-Xmx(\\d+)m$");

  @TempDir private Path directory = Path.of("");
  private Path programs = Path.of("");
  private Path jdk = Path.of("");

  @BeforeEach
  void make() throws IOException {
    Files.copy(Path.of("kvasir"), directory.resolve("kvasir"));
    Files.copy(Path.of("jvm.flags"), directory.resolve("jvm.flags"));
    assertThat(directory.resolve("kvasir").toFile().setExecutable(true)).isTrue();
    programs = Files.createDirectories(directory.resolve("programs"));
    jdk = directory.resolve("jdk");
    Files.createDirectories(jdk.resolve("bin"));
    Files.writeString(jdk.resolve("release"), "JAVA_VERSION=\"25.0.3\"\n");
    program(jdk.resolve("bin/java"), "printf '%s\\n' \"$@\"");
    program(jdk.resolve("bin/javac"), "exit 1");
    Files.createDirectories(directory.resolve("target/lib"));
    Files.writeString(directory.resolve("target/kvasir.jar"), "");
  }

  @Test
  void heap_isHalfOfTheMemory() throws Exception {
    program(programs.resolve("uname"), "echo Darwin");
    program(programs.resolve("sysctl"), "echo 1073741824");
    assertThat(largestHeap(Map.of())).as("of a machine with 1 GiB").isEqualTo(512);
    program(programs.resolve("sysctl"), "echo 137438953472");
    assertThat(largestHeap(Map.of())).as("of a large one").isEqualTo(2048);
    assertThat(largestHeap(Map.of("KVASIR_HEAP", "3000m"))).isEqualTo(3000);
  }

  /** The JVM would say no more than that it cannot start; the node says how much it needs. */
  @Test
  void heap_ofATinyContainer_isOneThatTheJvmTakes() throws Exception {
    program(programs.resolve("uname"), "echo Darwin");
    program(programs.resolve("sysctl"), "echo 104857600");
    ProcessBuilder launcher = launcher("serve");
    launcher.environment().remove("KVASIR_AOT");
    String output = output(launcher.start());
    assertThat(output.lines()).contains("-Xmx50m", "-XX:InitialHeapSize=50m");
    assertThat(output).as("it makes no cache, with which the JVM would not start").doesNotContain("start faster");
  }

  @Test
  void heap_ofThisMachine_isNoMoreThanHalfOfIt() throws Exception {
    OperatingSystemMXBean machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    assertThat(largestHeap(Map.of())).isBetween(1L, Math.min(2048, (machine.getTotalMemorySize() >> 21) + 1));
  }

  /** As in a unit of systemd. */
  @Test
  void withoutHome_startsAllTheSame() throws Exception {
    ProcessBuilder launcher = launcher("version");
    launcher.environment().remove("HOME");
    // So that it has to look where people put their JDKs.
    List.of("KVASIR_JAVA_HOME", "JAVA_HOME", "JDK_25").forEach(launcher.environment()::remove);
    program(programs.resolve("javac"), "exit 1");
    assertThat(output(launcher.start())).doesNotContain("unbound");
  }

  @Test
  void buildThatIsStopped_endsBeforeItsLock() throws Exception {
    Files.writeString(directory.resolve("pom.xml"), "");
    Files.createDirectories(directory.resolve("src/main"));
    Files.createDirectories(directory.resolve("conf"));
    Files.delete(directory.resolve("target/kvasir.jar"));
    Path lock = directory.resolve("target/building");
    program(programs.resolve("mvn"),
        """
        trap '[ -L target/building ] && touch locked; touch stopped; exit 0' TERM
        touch started
        for i in $(seq 600); do sleep 0.1; done
        """);
    Process launcher = launcher("version").start();
    awaitFile("started");

    launcher.destroy();

    assertThat(launcher.waitFor(60, SECONDS)).isTrue();
    assertThat(directory.resolve("stopped")).exists();
    assertThat(directory.resolve("locked")).as("it had its lock to the end").exists();
    assertThat(Files.exists(lock, LinkOption.NOFOLLOW_LINKS)).isFalse();
    assertThat(launcher.exitValue()).isEqualTo(143);
  }

  /** Services and containers are stopped by SIGTERM: a status of an interrupt looks like somebody's key. */
  @Test
  void trainingThatIsStopped_endsAsTheNodeWould_andLeavesNothing() throws Exception {
    program(jdk.resolve("bin/java"),
        """
        trap '' TERM
        echo $$ >training
        sleep 600 &
        echo $! >its-own
        touch started
        wait
        """);
    ProcessBuilder start = launcher("serve");
    start.environment().put("KVASIR_AOT", "on");
    Process launcher = start.directory(directory.toFile()).start();
    awaitFile("started");

    launcher.destroy();

    assertThat(launcher.waitFor(60, SECONDS)).isTrue();
    assertThat(launcher.exitValue()).isEqualTo(143);
    assertThat(isAlive("training")).isFalse();
    Await.await("what it has started is killed, too, which nobody waits for", () -> !isAlive("its-own"));
    try (Stream<Path> left = Files.list(directory.resolve("target"))) {
      assertThat(left.map(file -> file.getFileName().toString())).containsOnly("lib", "kvasir.jar", "aot.log");
    }
  }

  /** Whether the process runs that a file names; one that has ended, and was not waited for, does not. */
  private boolean isAlive(String file) {
    try {
      Path status = Path.of("/proc", Files.readString(directory.resolve(file)).strip(), "stat");
      return !Files.readString(status).contains(") Z ");
    } catch (IOException gone) {
      return false;
    }
  }

  private void awaitFile(String name) {
    Await.await(name, () -> Files.exists(directory.resolve(name)));
  }

  private long largestHeap(Map<String, String> environment) throws Exception {
    ProcessBuilder launcher = launcher("validate");
    launcher.environment().putAll(environment);
    String output = output(launcher.start());
    Matcher largest = LARGEST.matcher(output);
    assertThat(largest.find()).as(output).isTrue();
    return Long.parseLong(largest.group(1));
  }

  private ProcessBuilder launcher(String command) {
    ProcessBuilder launcher =
        new ProcessBuilder(List.of(directory.resolve("kvasir").toString(), command)).redirectErrorStream(true);
    Map<String, String> environment = launcher.environment();
    environment.put("PATH", programs + ":" + environment.getOrDefault("PATH", "/usr/bin:/bin"));
    environment.put("KVASIR_JAVA_HOME", jdk.toString());
    environment.put("KVASIR_AOT", "off");
    environment.remove("KVASIR_HEAP");
    return launcher;
  }

  private static String output(Process process) throws Exception {
    String output = new String(process.getInputStream().readAllBytes(), UTF_8);
    process.waitFor();
    return output;
  }

  private static void program(Path file, String text) throws IOException {
    Files.writeString(file, "#!/usr/bin/env bash\n" + text + "\n");
    assertThat(file.toFile().setExecutable(true)).isTrue();
  }
}
