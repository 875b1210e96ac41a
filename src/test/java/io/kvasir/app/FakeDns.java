package io.kvasir.app;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A name server on loopback that knows one service: its SRV records, with the addresses of their targets beside them.
 * Whatever else it is asked does not exist.
 */
final class FakeDns implements AutoCloseable {
  private static final int SRV = 33;
  private static final int A = 1;
  private static final int NO_SUCH_NAME = 3;

  /** A name that resolves to itself. */
  private static final String TARGET = "127.0.0.1";

  private final DatagramSocket socket;
  private final String service;
  private final List<Integer> ports;

  FakeDns(String service, List<Integer> ports) throws IOException {
    this.socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
    this.service = service;
    this.ports = ports;
    Thread.ofVirtual().name("fake-dns").start(this::serve);
  }

  String address() {
    return "127.0.0.1:" + socket.getLocalPort();
  }

  @Override
  public void close() {
    socket.close();
  }

  private void serve() {
    byte[] buffer = new byte[1500];
    try {
      while (true) {
        DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
        socket.receive(packet);
        byte[] answer = answer(ByteBuffer.wrap(buffer, 0, packet.getLength()));
        socket.send(new DatagramPacket(answer, answer.length, packet.getSocketAddress()));
      }
    } catch (SocketException closed) {
      // The test is over.
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private byte[] answer(ByteBuffer query) throws IOException {
    short id = query.getShort();
    query.position(12);
    StringBuilder name = new StringBuilder();
    for (int length = query.get(); length > 0; length = query.get()) {
      byte[] label = new byte[length];
      query.get(label);
      name.append(name.isEmpty() ? "" : ".").append(new String(label, StandardCharsets.US_ASCII));
    }
    int type = query.getShort();
    boolean known = type == SRV && name.toString().equals(service);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeShort(id);
    out.writeShort(0x8580 | (known ? 0 : NO_SUCH_NAME));
    out.writeShort(1);
    out.writeShort(known ? ports.size() : 0);
    out.writeShort(0);
    out.writeShort(known ? ports.size() : 0);
    name(out, name.toString());
    out.writeShort(type);
    out.writeShort(1);
    if (known) {
      for (int i = 0; i < ports.size(); i++) {
        ByteArrayOutputStream data = new ByteArrayOutputStream();
        DataOutputStream record = new DataOutputStream(data);
        record.writeShort(0);
        record.writeShort(0);
        record.writeShort(ports.get(i));
        name(record, TARGET);
        record(out, name.toString(), SRV, data.toByteArray());
      }
      for (int i = 0; i < ports.size(); i++) {
        record(out, TARGET, A, new byte[] {127, 0, 0, 1});
      }
    }
    return bytes.toByteArray();
  }

  private static void record(DataOutputStream out, String name, int type, byte[] data) throws IOException {
    name(out, name);
    out.writeShort(type);
    out.writeShort(1);
    out.writeInt(1);
    out.writeShort(data.length);
    out.write(data);
  }

  private static void name(DataOutputStream out, String name) throws IOException {
    for (String label : name.split("\\.", -1)) {
      out.writeByte(label.length());
      out.write(label.getBytes(StandardCharsets.US_ASCII));
    }
    out.writeByte(0);
  }
}
