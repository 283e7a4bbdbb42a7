module lapwing

go 1.24
