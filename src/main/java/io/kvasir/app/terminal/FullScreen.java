package io.kvasir.app.terminal;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.Charset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The terminal's whole screen, drawn frame by frame on the alternate buffer, with keys that are read as they are
 * pressed. Closing it, or the end of the process, gives the terminal back as it was. The terminal is set up by POSIX's
 * {@code stty}. Thread-safe.
 */
public final class FullScreen implements AutoCloseable {
  private static final String ENTER = "\u001b[?1049h\u001b[?25l";
  private static final String LEAVE = "\u001b[?25h\u001b[?1049l";
  private static final String HOME = "\u001b[H";
  private static final String END_OF_LINE = "\u001b[K\r\n";
  private static final String REST_OF_SCREEN = "\u001b[K\u001b[J";
  private static final long STTY_SECONDS = 5;

  private final OutputStream out = new FileOutputStream(FileDescriptor.out);
  private final Charset charset;
  private final String settings;
  private boolean open = true;

  private FullScreen(Charset charset, String settings) {
    this.charset = charset;
    this.settings = settings;
  }

  /**
   * Takes over the terminal that standard input and output have to be.
   *
   * @param charset the terminal's
   * @throws IOException when the terminal cannot be set up
   */
  public static FullScreen open(Charset charset) throws IOException {
    FullScreen screen = new FullScreen(charset, stty("-g"));
    Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("kvasir-terminal").unstarted(screen::close));
    stty("-icanon", "-echo", "min", "1", "time", "0");
    screen.write(ENTER);
    return screen;
  }

  /** The terminal's size now; {@link TerminalSize#CLASSIC} where it does not tell. */
  public static TerminalSize size() throws IOException {
    Optional<TerminalSize> size = StandardStream.OUTPUT.size();
    if (size.isPresent()) {
      return size.get();
    }
    // A system that numbers its calls otherwise.
    String[] told = stty("size").split("\\s+", -1);
    if (told.length == 2 && told[0].matches("[1-9]\\d{0,4}") && told[1].matches("[1-9]\\d{0,4}")) {
      return new TerminalSize(Integer.parseInt(told[1]), Integer.parseInt(told[0]));
    }
    return TerminalSize.CLASSIC;
  }

  /** Shows these lines in place of those shown before. They have to fit. */
  public void draw(List<String> lines) throws IOException {
    write(HOME + String.join(END_OF_LINE, lines) + REST_OF_SCREEN);
  }

  @Override
  public synchronized void close() {
    if (open) {
      try {
        write(LEAVE);
        stty(settings);
      } catch (IOException gone) {
        // There is no terminal left to give back.
      }
      open = false;
    }
  }

  private synchronized void write(String text) throws IOException {
    if (open) {
      out.write(text.getBytes(charset));
      out.flush();
    }
  }

  private static String stty(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of("stty"));
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectInput(Redirect.INHERIT).redirectError(Redirect.DISCARD).start();
    try {
      String told = new String(process.getInputStream().readAllBytes(), Charset.defaultCharset()).strip();
      if (!process.waitFor(STTY_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        throw new IOException("stty " + String.join(" ", arguments) + " failed");
      }
      return told;
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", interrupted);
    } finally {
      process.destroy();
    }
  }
}
