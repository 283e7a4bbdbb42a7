// For tests: a CA, and a certificate of it for a server or a client.
//
// Thread safety: one thread.
#pragma once

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "testing/temporary_directory.h"

namespace lapwing {

struct NatsCertificates {
  explicit NatsCertificates(const TemporaryDirectory& directory, const std::string& ca_name = "ca",
                            const std::string& hosts = "DNS:localhost,IP:127.0.0.1") {
    const std::string make =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
        "-nodes -days 2 ";
    ca = directory.file(ca_name + ".pem");
    certificate = directory.file(ca_name + "-cert.pem");
    key = directory.file(ca_name + "-key.pem");
    const std::string ca_key = directory.file(ca_name + "-ca-key.pem");
    run(absl::StrCat(make, "-subj /CN=", ca_name, " -keyout ", ca_key, " -out ", ca));
    run(absl::StrCat(make, "-subj /CN=server -addext subjectAltName=", hosts, " ",
                     "-addext basicConstraints=critical,CA:FALSE -CA ", ca, " -CAkey ", ca_key,
                     " -keyout ", key, " -out ", certificate));
    REQUIRE(::chmod(key.c_str(), 0600) == 0);
  }
  static void run(const std::string& command) {
    INFO(command);
    REQUIRE(std::system((command + " 2>/dev/null").c_str()) == 0);
  }
  // For the configuration of a server.
  std::string tls(const std::string& more = {}) const {
    return absl::StrCat("tls { cert_file: \"", certificate, "\", key_file: \"", key, "\"", more,
                        " }");
  }

  std::string ca;
  std::string certificate;
  std::string key;
};

}  // namespace lapwing
