module lapwing.example/rates

go 1.24

require lapwing.example/go/lapwing v0.0.0

replace lapwing.example/go/lapwing => ../../../bindings/go
